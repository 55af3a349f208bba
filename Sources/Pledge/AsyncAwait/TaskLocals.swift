/// Propagation of task-local values to the handlers of promises.
///
/// A handler runs later than the operator that attaches it, possibly on another thread or in
/// another task, so by default it reads the task-local values there, or none. Register the keys
/// that your chains should propagate, such as a tracing context, once when the program starts:
///
/// ```swift
/// enum Tracing {
///   @TaskLocal static var requestID: String?
/// }
/// TaskLocals.propagate(Tracing.$requestID)
/// ```
///
/// From then on, each handler captures the key's value when the operator is called. `Promise { … }`
/// with an asynchronous closure doesn't need this, because a task inherits all values.
public enum TaskLocals {
  private static let keys = Mutex<[any PropagatedContext]>([])

  /// Makes the handlers of all promises run with the value that `key` had when their operator was
  /// called.
  ///
  /// This applies to all handlers that are created from now on, until the program ends. A second
  /// call for the same key has no effect.
  ///
  /// - Complexity: Each handler costs O(number of registered keys) more, and nothing without keys.
  public static func propagate<Value: Sendable>(_ key: TaskLocal<Value>) {
    keys.withLock { keys in
      if keys.contains(where: { $0 === key }) { return }
      keys.append(key)
    }
    Instrumentation.setContextCapture { capture() }
  }

  /// Makes the handlers of all promises run with the context that `capture` returned when their
  /// operator was called.
  ///
  /// Use this for a context whose task-local key isn't accessible, or one that isn't task-local:
  ///
  /// ```swift
  /// TaskLocals.propagate(
  ///   capturing: { Logger.current },
  ///   restoring: { logger, work in withLogger(logger) { _ in work() } })
  /// ```
  ///
  /// This applies to all handlers that are created from now on, until the program ends. Each call
  /// adds a context, which is restored inside those that were registered earlier.
  ///
  /// - Parameters:
  ///   - capture: Returns the current context. It is called on the thread that calls an operator.
  ///   - restore: Sets the context while it calls its second argument, once, before it returns. It
  ///     is called on the thread that runs a handler. If it doesn't call the argument, the handler
  ///     runs without the context.
  ///
  /// - Complexity: Each handler costs one more call of each function.
  public static func propagate<Context: Sendable>(
    capturing capture: @escaping @Sendable () -> Context,
    restoring restore: @escaping @Sendable (Context, () -> Void) -> Void
  ) {
    let context = CapturedContext(capture: capture, restore: restore)
    keys.withLock { $0.append(context) }
    Instrumentation.setContextCapture { self.capture() }
  }

  /// Returns the current values of the registered keys, as a function that sets them while it calls
  /// its argument; nil if no key is registered.
  package static func snapshot() -> (@Sendable (() -> Void) -> Void)? { Instrumentation.snapshot() }

  private static func capture() -> @Sendable (() -> Void) -> Void {
    var result: @Sendable (() -> Void) -> Void = { $0() }
    // From last to first, so that the context that was registered first is restored outermost.
    for key in keys.withLock({ $0 }).reversed() { result = key.capturing(around: result) }
    return result
  }
}

/// A context that handlers restore: a task-local key, or a pair of functions.
private protocol PropagatedContext: AnyObject, Sendable {
  /// Captures the current value, and returns a function that restores it around a call of `inner`.
  func capturing(
    around inner: @escaping @Sendable (() -> Void) -> Void
  ) -> @Sendable (() -> Void) -> Void
}

extension TaskLocal: PropagatedContext where Value: Sendable {
  fileprivate func capturing(
    around inner: @escaping @Sendable (() -> Void) -> Void
  ) -> @Sendable (() -> Void) -> Void {
    let value = get()
    return { work in self.withValue(value) { inner(work) } }
  }
}

/// A context that is captured and restored by functions.
private final class CapturedContext<Context: Sendable>: PropagatedContext {
  private let capture: @Sendable () -> Context
  private let restore: @Sendable (Context, () -> Void) -> Void

  init(
    capture: @escaping @Sendable () -> Context,
    restore: @escaping @Sendable (Context, () -> Void) -> Void
  ) {
    self.capture = capture
    self.restore = restore
  }

  func capturing(
    around inner: @escaping @Sendable (() -> Void) -> Void
  ) -> @Sendable (() -> Void) -> Void {
    let context = capture()
    return { [restore] work in
      // A handler runs exactly once, however often the user's function calls it.
      var hasRun = false
      restore(context) {
        if hasRun { return }
        hasRun = true
        inner(work)
      }
      if !hasRun { inner(work) }
    }
  }
}
