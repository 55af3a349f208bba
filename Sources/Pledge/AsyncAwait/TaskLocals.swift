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
/// From then on, each handler captures the key's value when the operator is called. The handlers of
/// a chain share what they captured, and a thread keeps the values that it captured last. `Promise { … }`
/// with an asynchronous closure doesn't need this, because a task inherits all values.
public enum TaskLocals {
  /// Makes the handlers of all promises run with the value that `key` had when their operator was
  /// called.
  ///
  /// This applies to all handlers that are created from now on, until the program ends. A second
  /// call for the same key has no effect.
  ///
  /// - Complexity: Each handler reads the registered keys once when it is created and once when it
  ///   runs; one that is called immediately, in place, reads none. Nothing without keys.
  @inlinable
  public static func propagate<Value: Sendable>(_ key: TaskLocal<Value>) {
    Instrumentation.propagate(
      PropagatedContext(
        key: ObjectIdentifier(key), read: { key.get() },
        restore: { value, work in key.withValue(value, operation: work) }))
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
  ///   - capture: Returns the current context. It is called on the thread that calls an operator,
  ///     and on the thread that runs a handler, to compare the contexts: it must be cheap.
  ///   - restore: Sets the context while it calls its second argument, once, before it returns. It
  ///     is called on the thread that runs a handler, unless the context is already the current
  ///     one. If it doesn't call the argument, the handler runs without the context.
  ///
  /// - Complexity: Each handler costs two calls of `capture`, and one of `restore` if the context
  ///   isn't current; one that is called immediately, in place, costs none.
  @inlinable
  public static func propagate<Context: Sendable>(
    capturing capture: @escaping @Sendable () -> Context,
    restoring restore: @escaping @Sendable (Context, () -> Void) -> Void
  ) {
    Instrumentation.propagate(PropagatedContext(key: nil, read: capture, restore: restore))
  }

  /// The current values of the registered keys; nil if no key is registered.
  package static func snapshot() -> ContextSnapshot? { Instrumentation.snapshot() }
}
