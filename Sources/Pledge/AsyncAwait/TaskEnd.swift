/// The end of the task of an asynchronous operation, which can outlast its promise: a cancellation
/// rejects that at once, and the task ends when the operation heeds it.
final class TaskEnd: Sendable {
  private let current = Mutex(Promise<Void>.value(()))

  /// Settles when the task has ended; has settled while there is none.
  var promise: Promise<Void> { current.withLock { $0 } }

  /// Runs `operation`, which runs in `isolation`, in a task, the only one.
  func run<Value: Sendable>(
    _ operation: @escaping @Sendable () async throws -> Value, in isolation: Scheduler?
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
