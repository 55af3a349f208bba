/// The end of the task of an asynchronous operation, which can come after its promise settles.
///
/// Cancellation rejects the promise immediately, but the task ends only when the operation responds
/// to it.
final class TaskEnd: Sendable {
  private let current = Mutex(Promise<Void>.value(()))

  /// A promise that settles when the task has ended; it is settled while there is no task.
  var promise: Promise<Void> { current.withLock { $0 } }

  /// Runs `operation` in a new task.
  ///
  /// Call this only once.
  func run<Value: Sendable>(
    _ operation: @escaping @Sendable () async throws -> Value
  ) -> Promise<Value> {
    let (end, resolver) = Promise<Void>.withResolvers()
    current.withLock { $0 = end }
    return Promise {
      defer { resolver.fulfill() }
      return try await operation()
    }
  }
}
