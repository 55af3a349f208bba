/// Which task-local values handlers find as they were where the handler was written.
///
/// A handler runs later and elsewhere, in whatever task or on whatever thread settles its promise,
/// so by itself it would find that one's task-local values, or none. Register the keys that should
/// follow your chains, such as a tracing context, once, when the program starts:
///
/// ```swift
/// enum Tracing {
///   @TaskLocal static var requestID: String?
/// }
/// TaskLocals.propagate(Tracing.$requestID)
/// ```
///
/// From then on each handler remembers the value that the key has where the operator is called.
/// `Promise { … }` with an asynchronous closure needs none of this: a task inherits all values.
public enum TaskLocals {
  private static let keys = Mutex<[any PropagatedContext]>([])

  /// Has the handlers of all promises find the value of `key` that it had where the operator that
  /// took them was called.
  ///
  /// For all handlers made from now on, until the program ends. A second call for the same key
  /// does nothing.
  ///
  /// - Complexity: Each handler costs O(number of registered keys) more; nothing while there is none.
  public static func propagate<Value: Sendable>(_ key: TaskLocal<Value>) {
    keys.withLock { keys in
      if keys.contains(where: { $0 === key }) { return }
      keys.append(key)
    }
    Instrumentation.setContextCapture { capture() }
  }

  /// Has the handlers of all promises find a context of another library's as it was where the operator
  /// that took them was called.
  ///
  /// For a context whose task-local key isn't accessible, and for one that isn't task-local:
  ///
  /// ```swift
  /// TaskLocals.propagate(
  ///   capturing: { Logger.current },
  ///   restoring: { logger, work in withLogger(logger) { _ in work() } })
  /// ```
  ///
  /// For all handlers made from now on, until the program ends. Each call adds one more context, which
  /// is restored inside of those that were registered before.
  ///
  /// - Parameters:
  ///   - capture: Returns the present context. Called wherever an operator is called, on its thread.
  ///   - restore: Makes the context the present one while it calls its second argument, once, before it
  ///     returns. Called wherever a handler runs, on its thread. If it calls the argument not at all,
  ///     the handler runs without the context.
  ///
  /// - Complexity: Each handler costs one call of each function more.
  public static func propagate<Context: Sendable>(
    capturing capture: @escaping @Sendable () -> Context,
    restoring restore: @escaping @Sendable (Context, () -> Void) -> Void
  ) {
    let context = CapturedContext(capture: capture, restore: restore)
    keys.withLock { $0.append(context) }
    Instrumentation.setContextCapture { self.capture() }
  }

  /// The present values of the registered keys, as a function that sets them while it calls its
  /// argument; nil if no key is registered.
  package static func snapshot() -> (@Sendable (() -> Void) -> Void)? { Instrumentation.snapshot() }

  private static func capture() -> @Sendable (() -> Void) -> Void {
    var result: @Sendable (() -> Void) -> Void = { $0() }
    // From the last to the first, so that what was registered first is restored outermost.
    for key in keys.withLock({ $0 }).reversed() { result = key.capturing(around: result) }
    return result
  }
}

/// What handlers find again: a task-local key, or a pair of functions.
private protocol PropagatedContext: AnyObject, Sendable {
  /// Restores the present value around a call of `inner`.
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

/// A context of another library's.
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
      // A handler runs exactly once, whatever the program's function does.
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

extension Instrumentation {
  /// `handler`, which finds the registered task-local values of this moment wherever it is called.
  static func restoringContext(
    in handler: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    guard let restoring = snapshot() else { return handler }
    return { restoring(handler) }
  }
}
