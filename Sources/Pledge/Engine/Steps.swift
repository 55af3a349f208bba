extension Instrumentation {
  /// What happened to a cell.
  enum Step {
    case created(origin: SourceLocation?)
    case attached(source: Cell, observer: Handler)
    case observes(result: Cell)
    case handlerStarted(source: Cell)
    case handlerReturned
    case adopted(Cell, isSettled: Bool)
    case settled(Rejection?)
    case withdrawn
    case cancellationRequested
    case waitStarted
    case waitEnded
    case released
  }

  /// A receiver of steps.
  final class Tracer: Sendable {
    let receive: @Sendable (Cell, Step) -> Void
    init(_ receive: @escaping @Sendable (Cell, Step) -> Void) { self.receive = receive }
  }

  /// Installs `tracer`, which receives every step; nil removes it.
  ///
  /// Each event reads the tracer without a lock, so that threads don't contend. A thread can
  /// therefore still call a tracer that was removed: tracers are never deallocated.
  static func setTracer(_ tracer: Tracer?) {
    if let tracer {
      let address = UInt(bitPattern: Unmanaged.passRetained(tracer).toOpaque())
      withAtomic(&tracerWord) { $0.store(UInt64(address), ordering: .releasing) }
    }
    install(tracer, in: installedTracer, flag: tracing)
  }

  private static let installedTracer = Mutex<Tracer?>(nil)

  @inline(__always)
  static func note(_ cell: Cell, _ step: @autoclosure () -> Step) {
    if isTracing { tell(cell, step()) }
  }

  @inline(never)
  private static func tell(_ cell: Cell, _ step: Step) {
    let address = withAtomic(&tracerWord) { $0.load(ordering: .acquiring) }
    guard let pointer = UnsafeRawPointer(bitPattern: UInt(address)) else { return }
    Unmanaged<Tracer>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.receive(cell, step) }
  }
}

/// The address of the tracer, retained.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var tracerWord: UInt64 = 0

extension Cell {
  /// Reports a promise that a resolver or a combinator settles, or that is created rejected.
  @usableFromInline
  final func noteCreation(_ origin: SourceLocation?) {
    Instrumentation.note(self, .created(origin: origin))
    if Instrumentation.isTracing, isSettled { Instrumentation.note(self, .settled(rejection)) }
  }

  /// Reports that this observer, which creates no promise, works for the promise of `result`.
  @usableFromInline
  final func noteObserving(for result: Cell) {
    Instrumentation.note(self, .observes(result: result))
  }
}
