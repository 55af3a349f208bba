/// The tools that observe the engine, which cost one load of a flag while none is installed.
@usableFromInline
enum Instrumentation {
  static let tracing: UInt64 = 1
  static let context: UInt64 = 2

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
  private struct Hooks {
    var tracer: (@Sendable (Cell, Step) -> Void)?
    var capture: (@Sendable () -> (@Sendable (() -> Void) -> Void)?)?
    var report: (@Sendable (any Error, SourceLocation?) -> Void)?
    var claim: (@Sendable (any Error, SourceLocation?, UInt) -> Bool)?
  }

  private static let hooks = Mutex(Hooks())

  // MARK: - Installing

  /// Installs `tracer`, which receives every step; nil removes it.
  static func setTracer(_ tracer: (@Sendable (Cell, Step) -> Void)?) {
    let old = hooks.withLock { hooks in
      set(tracing, tracer != nil)
      return exchange(&hooks.tracer, with: tracer)
    }
    // The objects that it captured are released outside the lock.
    withExtendedLifetime(old) {}
  }

  /// Installs `capture`, which is called when a handler is created; the function that it returns is
  /// called around the handler.
  static func setContextCapture(
    _ capture: @escaping @Sendable () -> (@Sendable (() -> Void) -> Void)?
  ) {
    hooks.withLock { hooks in
      hooks.capture = capture
      set(context, true)
    }
  }

  /// Installs `report`, which receives unhandled rejections; nil removes it.
  static func setReport(_ report: (@Sendable (any Error, SourceLocation?) -> Void)?) {
    let old = hooks.withLock { exchange(&$0.report, with: report) }
    withExtendedLifetime(old) {}
  }

  /// Installs `claim`, which returns whether it takes over the report of an unhandled rejection;
  /// nil removes it.
  ///
  /// Its third argument is the identity of the rejection for tracers. `claim` runs on the thread
  /// that released the rejection, which can be any thread: it must not call user code.
  static func setClaim(_ claim: (@Sendable (any Error, SourceLocation?, UInt) -> Bool)?) {
    let old = hooks.withLock { exchange(&$0.claim, with: claim) }
    withExtendedLifetime(old) {}
  }

  // MARK: - Asking

  /// The instruments that are installed.
  @inline(__always)
  static var flags: UInt64 { withAtomic(&instrumentationWord) { $0.load(ordering: .relaxed) } }

  @inline(__always)
  static var isTracing: Bool { flags & tracing != 0 }

  @inline(__always)
  static var capturesContext: Bool { flags & context != 0 }

  /// Must be called under the lock of `hooks`.
  private static func set(_ flag: UInt64, _ isOn: Bool) {
    withAtomic(&instrumentationWord) { word in
      let flags = word.load(ordering: .relaxed)
      word.store(isOn ? flags | flag : flags & ~flag, ordering: .releasing)
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

  /// The current context, as a function that restores it while it calls its argument.
  static func snapshot() -> (@Sendable (() -> Void) -> Void)? {
    guard capturesContext else { return nil }
    return hooks.withLock { $0.capture }?()
  }

  /// Wraps `run` so that it runs in the current context.
  static func capturingContext(
    _ run: @escaping @Sendable (Handler, Cell) -> Void
  ) -> @Sendable (Handler, Cell) -> Void {
    guard let restoring = snapshot() else { return run }
    return { handler, source in restoring { run(handler, source) } }
  }

  /// Reports an unhandled rejection to the tool that claims it, and otherwise to the installed
  /// report or standard error.
  static func reportUnhandled(_ error: any Error, _ origin: SourceLocation?, id: UInt) {
    if let claim = hooks.withLock({ $0.claim }), claim(error, origin, id) { return }
    reportUnhandled(error, origin)
  }

  private static func reportUnhandled(_ error: any Error, _ origin: SourceLocation?) {
    Monitoring.unhandledRejections.note(())
    // A rejection that the report itself leaves unhandled must not be reported to it again.
    let state = ThreadState.current
    if !state.pointee.isReporting, let report = hooks.withLock({ $0.report }) {
      state.pointee.isReporting = true
      report(error, origin)
      state.pointee.isReporting = false
    } else {
      StandardError.write("Pledge: \(Rejection.unhandledText(error, origin))\n")
    }
  }
}

extension Instrumentation {
  /// Returns a function that calls `handler` with the current values of the registered keys.
  static func restoringContext(in action: CleanUpAction) -> CleanUpAction {
    guard let restoring = snapshot() else { return action }
    return CleanUpAction { restoring { try? action.call() } }
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

/// The flags of the instruments that are installed.
///
/// `nonisolated(unsafe)`: only accessed atomically.
@exclusivity(unchecked) nonisolated(unsafe) private var instrumentationWord: UInt64 = 0
