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
  private static let keys = Mutex<[any PropagatedKey]>([])

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

  /// The present values of the registered keys, as a function that sets them while it calls its
  /// argument; nil if no key is registered.
  static func snapshot() -> (@Sendable (() -> Void) -> Void)? { Instrumentation.snapshot() }

  private static func capture() -> @Sendable (() -> Void) -> Void {
    var result: @Sendable (() -> Void) -> Void = { $0() }
    for key in keys.withLock({ $0 }) { result = key.capturing(around: result) }
    return result
  }
}

/// A task-local key, whatever the type of its value.
private protocol PropagatedKey: AnyObject, Sendable {
  /// Sets the key's present value before calling `inner`.
  func capturing(
    around inner: @escaping @Sendable (() -> Void) -> Void
  ) -> @Sendable (() -> Void) -> Void
}

extension TaskLocal: PropagatedKey where Value: Sendable {
  fileprivate func capturing(
    around inner: @escaping @Sendable (() -> Void) -> Void
  ) -> @Sendable (() -> Void) -> Void {
    let value = get()
    return { work in self.withValue(value) { inner(work) } }
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
