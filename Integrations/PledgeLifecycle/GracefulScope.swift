#if ServiceLifecycle
  import Pledge
  import ServiceLifecycle

  /// A service that waits for its work on graceful shutdown, and cancels work that exceeds a
  /// deadline.
  ///
  /// ```swift
  /// let requests = GracefulScope(deadline: .seconds(20))
  ///
  /// func respond(to request: Request) -> Promise<Response> {
  ///   requests.run { load(request) }
  /// }
  ///
  /// let group = ServiceGroup(
  ///   services: [requests, server], gracefulShutdownSignals: [.sigterm], logger: logger)
  /// try await group.run()
  /// ```
  ///
  /// On graceful shutdown, the scope rejects new work with ``ShuttingDownError``, waits for other
  /// work, and cancels whatever hasn't ended by the deadline. A service group shuts down its services
  /// in reverse order, so list a scope before the services that submit work to it.
  ///
  /// The deadline starts at the scope's turn, when those services have ended. If they wait for the
  /// scope's work, as a server that answers its last requests does, set the configuration's
  /// `maximumGracefulShutdownDuration`: when that has passed, the group cancels its services, and
  /// the scope cancels its work.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public final class GracefulScope: Service {
    /// The error of work that is submitted after the shutdown has started.
    public struct ShuttingDownError: Error, Sendable, Hashable, CustomStringConvertible {
      /// A description for logs.
      public var description: String { "The service is shutting down and starts no new work." }

      /// Creates the error.
      public init() {}
    }

    fileprivate struct State {
      /// The closures that cancel unfinished work; nil for work that hasn't started.
      var work: [Int: (@Sendable () -> Void)?] = [:]
      var nextID = 0
      var isClosed = false
      /// Whether work that starts now must be cancelled.
      var isCancelled = false
      var empty: [Resolver<Void>] = []
    }

    private let state = Mutex(State())
    private let deadline: Duration
    private let clock: any Clock<Duration>

    /// Creates a scope that accepts work.
    ///
    /// - Parameters:
    ///   - deadline: The time after the start of the scope's own shutdown by which work must have
    ///     ended.
    ///   - clock: The clock of the deadline.
    public init(
      deadline: Duration = .seconds(30), clock: any Clock<Duration> = ContinuousClock()
    ) {
      self.deadline = deadline
      self.clock = clock
    }

    /// The number of operations that have been submitted and haven't ended.
    public var pendingCount: Int { state.withLock { $0.work.count } }

    /// Whether new work is rejected.
    public var isShuttingDown: Bool { state.withLock { $0.isClosed } }

    // MARK: - Work

    /// Runs `operation`.
    ///
    /// After the shutdown has started, `operation` doesn't run and the promise is rejected with
    /// ``ShuttingDownError``. Cancelling the promise cancels the promise of `operation`. At the
    /// deadline of the shutdown, the scope cancels the promise in the same way, and it is rejected
    /// with `CancellationError`. If `operation` submits its work to a `Limiter`, work that is still
    /// queued there then never starts.
    ///
    /// **Execution.** `operation` runs in the isolation in which it was written.
    public func run<T: Sendable>(
      @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise<T>
    ) -> Promise<T> {
      start(executor(for: operation.isolation), assumingIsolated(operation))
    }

    /// The same as `run(_:)`, with `operation` on `executor`; with `.immediate`, it runs inside this call.
    @_disfavoredOverload
    public func run<T: Sendable>(
      on executor: some PromiseExecutor, _ operation: @escaping @Sendable () throws -> Promise<T>
    ) -> Promise<T> { start(executor, operation) }

    /// The same as `run(_:)`, for a guarantee or a promise of another module.
    @_disfavoredOverload
    public func run<T: Thenable>(
      @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> T
    ) -> Promise<T.Value> {
      let body = assumingIsolated(operation)
      return start(executor(for: operation.isolation)) { try body().promise }
    }

    /// Runs an asynchronous `operation`.
    ///
    /// Cancelling the promise cancels the task of `operation`. Otherwise, this method behaves like
    /// the one for an operation that returns a promise.
    ///
    /// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
    @_disfavoredOverload
    public func run<T: Sendable>(
      @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> T
    ) -> Promise<T> {
      submit { Promise(operation) }
    }

    private func start<T: Sendable>(
      _ executor: any PromiseExecutor, _ operation: @escaping @Sendable () throws -> Promise<T>
    ) -> Promise<T> {
      submit { Promise.value(()).then(on: executor) { try operation() } }
    }

    private func submit<T: Sendable>(_ start: () -> Promise<T>) -> Promise<T> {
      let id: Int? = state.withLock { state in
        if state.isClosed { return nil }
        defer { state.nextID += 1 }
        // Added before it starts, so that a shutdown waits for it.
        state.work[state.nextID] = .some(nil)
        return state.nextID
      }
      guard let id else { return .rejected(ShuttingDownError()) }
      let work = start()
      let isTooLate = state.withLock { state in
        state.work[id] = { work.cancel() }
        return state.isCancelled
      }
      // The scope retains nothing of work that has ended.
      let result = work.ending { [weak self] in self?.leave(id) }
      if isTooLate { work.cancel() }
      return result
    }

    private func leave(_ id: Int) {
      let (cancel, empty) = state.withLock { state in
        (state.work.removeValue(forKey: id), state.takeEmpty())
      }
      withExtendedLifetime(cancel) {}
      for resolver in empty { resolver.fulfill() }
    }

    // MARK: - Shutting down

    /// Waits for graceful shutdown, and then until all work has ended, but no longer than the
    /// deadline.
    ///
    /// A service group calls this. If its task is cancelled, all work is cancelled immediately, and
    /// this method throws `CancellationError`.
    public func run() async throws {
      do {
        try await gracefulShutdown()
      } catch {
        cancelAll()
        throw error
      }
      await drain()
      try Task.checkCancellation()
    }

    /// Rejects new work, waits until all other work has ended, and cancels whatever hasn't ended by
    /// the deadline.
    ///
    /// ``run()`` does this on graceful shutdown; call it yourself in a program without a service
    /// group. If the calling task is cancelled, all work is cancelled immediately.
    ///
    /// - Returns: The number of cancelled operations.
    @discardableResult
    public func drain() async -> Int {
      let empty = close()
      do {
        try await empty.timeout(after: deadline, clock: clock).value
        return 0
      } catch {
        // The deadline has passed, or the task was cancelled.
        return cancelAll()
      }
    }

    /// Rejects new work.
    ///
    /// - Returns: A promise that is fulfilled when no work is left.
    private func close() -> Promise<Void> {
      let (promise, resolver) = Promise<Void>.withResolvers()
      let empty = state.withLock { state in
        state.isClosed = true
        state.empty.append(resolver)
        return state.takeEmpty()
      }
      for resolver in empty { resolver.fulfill() }
      return promise
    }

    @discardableResult
    private func cancelAll() -> Int {
      let work = state.withLock { state in
        state.isClosed = true
        state.isCancelled = true
        return state.work
      }
      // Cancel the newest work first: in a limiter, it waits for older work, and must be removed before
      // there is room for it.
      for (_, cancel) in work.sorted(by: { $0.key > $1.key }) { cancel?() }
      return work.count
    }
  }

  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  extension GracefulScope.State {
    /// If no work is left, removes and returns the resolvers of the promises for the end of all
    /// work.
    fileprivate mutating func takeEmpty() -> [Resolver<Void>] {
      guard work.isEmpty else { return [] }
      defer { empty = [] }
      return empty
    }
  }
#endif
