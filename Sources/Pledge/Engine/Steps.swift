extension Instrumentation {
  /// What happened to a cell.
  enum Step {
    case created(origin: SourceLocation?)
    case attached(source: Cell, observer: Handler)
    /// The handler, whose closure has returned, waits for a promise that it adopted.
    case waits(source: Cell, handler: Handler)
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

  /// A struct, because a closure that is used directly as a generic argument needs one more thunk
  /// at each access.
  private struct Tracer: Sendable {
    let call: @Sendable (Cell, Step) -> Void
  }

  private static let tracer = Mutex<Tracer?>(nil)

  /// Installs `tracer`, which receives every step; nil removes it.
  static func setTracer(_ tracer: (@Sendable (Cell, Step) -> Void)?) {
    install(tracer.map { Tracer(call: $0) }, in: self.tracer, flag: tracing)
  }

  @inline(__always)
  static func note(_ cell: Cell, _ step: @autoclosure () -> Step) {
    if isTracing { tell(cell, step()) }
  }

  @inline(never)
  private static func tell(_ cell: Cell, _ step: Step) {
    tracer.withLock { $0 }?.call(cell, step)
  }
}

extension Cell {
  /// Reports a promise that a resolver or a combinator settles.
  @usableFromInline
  final func noteCreation(_ origin: SourceLocation?) {
    Instrumentation.note(self, .created(origin: origin))
  }

  /// Reports a promise that is created rejected.
  @usableFromInline
  final func noteRejection(_ rejection: Rejection) {
    Instrumentation.note(self, .created(origin: rejection.origin))
    Instrumentation.note(self, .settled(rejection))
  }

  /// Reports that this observer, which creates no promise, works for the promise of `result`.
  @usableFromInline
  final func noteObserving(for result: Cell) {
    Instrumentation.note(self, .observes(result: result))
  }
}
