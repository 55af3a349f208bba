/// The tools that observe the engine: they are installed here, and cost one load of a flag while
/// none is installed.
@usableFromInline
enum Instrumentation {
  static let tracing: UInt = 1
  static let context: UInt = 2

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

  /// In structs, since a bare closure gets one more thunk at each access to a generic type.
  private struct Hooks {
    var tracer: (@Sendable (Cell, Step) -> Void)?
    var capture: (@Sendable () -> (@Sendable (() -> Void) -> Void)?)?
    var report: (@Sendable (any Error, SourceLocation?) -> Void)?
    var claim: (@Sendable (any Error, SourceLocation?, UInt) -> Bool)?
  }

  private static let hooks = Mutex(Hooks())

  // MARK: - Installing

  /// Makes `tracer` receive every step; nil ends that.
  static func setTracer(_ tracer: (@Sendable (Cell, Step) -> Void)?) {
    let old = hooks.withLock { hooks in
      set(tracing, tracer != nil)
      return exchange(&hooks.tracer, with: tracer)
    }
    // The objects that it captured are released outside the lock.
    withExtendedLifetime(old) {}
  }

  /// Makes each creation of a handler call `capture`; the function that it returns is called around
  /// the handler.
  static func setContextCapture(
    _ capture: @escaping @Sendable () -> (@Sendable (() -> Void) -> Void)?
  ) {
    hooks.withLock { hooks in
      hooks.capture = capture
      set(context, true)
    }
  }

  /// Makes `report` receive unhandled rejections.
  static func setReport(_ report: (@Sendable (any Error, SourceLocation?) -> Void)?) {
    let old = hooks.withLock { exchange(&$0.report, with: report) }
    withExtendedLifetime(old) {}
  }

  /// Has `claim` asked whether it takes over the report of an unhandled rejection, which has the name
  /// that tracers know it by; nil ends that.
  ///
  /// It is asked on the thread that released the rejection, also on the timers' thread: it must not
  /// call code of the program.
  static func setClaim(_ claim: (@Sendable (any Error, SourceLocation?, UInt) -> Bool)?) {
    let old = hooks.withLock { exchange(&$0.claim, with: claim) }
    withExtendedLifetime(old) {}
  }

  // MARK: - Asking

  /// Which of the instruments are installed.
  @inline(__always)
  static var flags: UInt { withAtomic(&instrumentationWord) { $0.load(ordering: .relaxed) } }

  @inline(__always)
  static var isTracing: Bool { flags & tracing != 0 }

  @inline(__always)
  static var capturesContext: Bool { flags & context != 0 }

  private static func set(_ flag: UInt, _ isOn: Bool) {
    _ = withAtomic(&instrumentationWord) { word in
      isOn
        ? word.bitwiseOr(flag, ordering: .acquiringAndReleasing)
        : word.bitwiseAnd(~flag, ordering: .acquiringAndReleasing)
    }
  }

  // MARK: - Telling

  @inline(__always)
  static func note(_ cell: Cell, _ step: @autoclosure () -> Step) {
    if isTracing { tell(cell, step()) }
  }

  @inline(never)
  private static func tell(_ cell: Cell, _ step: Step) {
    hooks.withLock { $0.tracer }?(cell, step)
  }

  @inline(never)
  static func noteAttachment(of handler: Handler, to source: Cell) {
    tell(handler, .attached(source: source, observer: handler))
  }

  @inline(never)
  static func noteStart(of handler: Handler, source: Cell) {
    tell(handler, .handlerStarted(source: source))
  }

  /// The context of this moment, as a function that restores it while it calls its argument.
  static func snapshot() -> (@Sendable (() -> Void) -> Void)? {
    guard capturesContext else { return nil }
    return hooks.withLock { $0.capture }?()
  }

  /// Makes `run` find the context of this moment.
  static func capturingContext(
    _ run: @escaping @Sendable (Handler, Cell) -> Void
  ) -> @Sendable (Handler, Cell) -> Void {
    guard let restoring = snapshot() else { return run }
    return { handler, source in restoring { run(handler, source) } }
  }

  /// Reports a rejection that has no handler: the tool that claims it, or else the program's own
  /// report or standard error.
  static func reportUnhandled(_ error: any Error, _ origin: SourceLocation?, id: UInt) {
    if let claim = hooks.withLock({ $0.claim }), claim(error, origin, id) { return }
    reportUnhandled(error, origin)
  }

  private static func reportUnhandled(_ error: any Error, _ origin: SourceLocation?) {
    // The handler is the program's, and so is the error's description.
    let state = ThreadState.current
    if state.pointee.isTimerThread {
      state.pointee.postponed.append { reportUnhandled(error, origin) }
      return
    }
    Monitoring.policies.note(.unhandledRejection)
    if let report = hooks.withLock({ $0.report }) {
      report(error, origin)
    } else {
      StandardError.write("Pledge: \(Rejection.unhandledText(error, origin))\n")
    }
  }
}

/// Which instruments are installed.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var instrumentationWord: UInt = 0
