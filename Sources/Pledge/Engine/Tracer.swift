extension PromiseDiagnostics {
  /// A receiver of the events of promises.
  package final class Tracer: Sendable {
    fileprivate let receive: @Sendable (borrowing TraceEvent) -> Void

    /// Creates a tracer that passes each event to `receive`, on the thread on which it happens and
    /// during the event: `receive` must be fast and must not use promises.
    ///
    /// Events of one promise arrive in order, except for those of threads that use it at the same
    /// time. `receive` can be called for a moment after tracing has ended.
    package init(_ receive: @escaping @Sendable (borrowing TraceEvent) -> Void) {
      self.receive = receive
    }
  }

  /// Sends all future events of promises to `tracer`; nil ends tracing.
  ///
  /// Each event reads the tracer without a lock, so that threads don't contend. A thread can
  /// therefore still call a tracer that was removed: tracers are never deallocated.
  package static func setTracer(_ tracer: Tracer?) {
    let address = tracer.map { UInt(bitPattern: Unmanaged.passRetained($0).toOpaque()) } ?? 0
    withAtomic(&tracerWord) { $0.store(UInt64(address), ordering: .releasing) }
  }
}

extension Instrumentation {
  @inline(__always)
  static var isTracing: Bool { withAtomic(&tracerWord) { $0.load(ordering: .relaxed) } != 0 }

  @inline(__always)
  static func note(_ cell: Cell, _ kind: @autoclosure () -> PromiseDiagnostics.TraceEvent.Kind) {
    if isTracing { tell(cell, kind()) }
  }

  /// Notes that the closure of the handler that runs on this thread didn't call the user's.
  @usableFromInline
  static func noteSkippedClosure() {
    guard isTracing, let handler = ThreadState.current.pointee.running else { return }
    tell(unsafeDowncast(handler.takeUnretainedValue(), to: Cell.self), .closureSkipped)
  }

  @inline(never)
  private static func tell(_ cell: Cell, _ kind: PromiseDiagnostics.TraceEvent.Kind) {
    let address = withAtomic(&tracerWord) { $0.load(ordering: .acquiring) }
    guard let pointer = UnsafeRawPointer(bitPattern: UInt(address)) else { return }
    let event = PromiseDiagnostics.TraceEvent(
      promise: PromiseDiagnostics.PromiseID(cell), kind: kind)
    Unmanaged<PromiseDiagnostics.Tracer>.fromOpaque(pointer)
      ._withUnsafeGuaranteedRef { $0.receive(event) }
  }
}

/// The address of the tracer, retained; zero if there is none.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var tracerWord: UInt64 = 0

extension Cell {
  /// Reports that this promise waits for something outside all promises.
  @usableFromInline
  final func noteAwaiting(_ outside: PromiseDiagnostics.Outside) {
    Instrumentation.note(self, .waits(for: .outside(outside)))
  }

  /// Reports that this promise waits for `other`, or for what the cancellation of that has left.
  final func noteAwaiting(_ other: Cell) {
    Instrumentation.note(self, .waits(for: .promise(PromiseDiagnostics.PromiseID(other))))
  }

  /// Reports a promise that a resolver or a combinator settles, or that is created rejected.
  @usableFromInline
  final func noteCreation(_ origin: SourceLocation?) {
    Instrumentation.note(self, .created(origin: origin))
    if Instrumentation.isTracing, isSettled { Instrumentation.note(self, .settled(rejection)) }
  }

  /// Reports that this observer, which creates no promise, works for the promise of `result`.
  @usableFromInline
  final func noteObserving(for result: Cell) {
    Instrumentation.note(self, .observes(for: PromiseDiagnostics.PromiseID(result)))
  }
}
