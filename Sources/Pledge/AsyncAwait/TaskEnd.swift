/// The end of the task of an asynchronous operation, which can come after its promise settles.
///
/// Cancellation rejects the promise immediately, but the task ends only when the operation responds
/// to it.
final class TaskEnd: Sendable {
  private let current = Mutex(Promise<Void>.value(()))

  /// A promise that settles when the task has ended; it is settled while there is no task.
  var promise: Promise<Void> { current.withLock { $0 } }

  /// Runs `operation`, which runs in `isolation`, in a new task.
  ///
  /// Call this only once.
  func run<Value: Sendable>(
    _ operation: @escaping @Sendable () async throws -> Value, in isolation: HandlerTarget?
  ) -> Promise<Value> {
    let (end, resolver) = Promise<Void>.withResolvers()
    current.withLock { $0 = end }
    return Promise {
      defer { resolver.fulfill() }
      return try await operation()
    }
    .produced(in: isolation)
  }
}

/// A task that waits to be told to run its operation.
///
/// It exists while it waits because only a task can store its creator's task-local values and
/// priority. The thread that starts it can belong to another request.
final class WaitingTask<Value: Sendable>: Sendable {
  private let result: Promise<Value>
  private let resolver: Resolver<Void>

  /// Creates the task, whose end is `end`.
  init(
    _ end: TaskEnd, _ operation: @escaping @Sendable () async throws -> Value,
    in isolation: HandlerTarget?
  ) {
    let (gate, resolver) = Promise<Void>.withResolvers()
    self.resolver = resolver
    result = end.run(
      {
        try await gate.value
        return try await operation()
      }, in: isolation)
  }

  // A task that was never started ends silently.
  deinit {
    if resolver.isPending { result.cancel() }
    resolver.abandon()
  }

  /// Runs the operation, and returns its result.
  func start() -> Promise<Value> {
    resolver.fulfill()
    return result
  }
}
