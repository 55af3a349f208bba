/// An object that cancels the work bound to it when it is deallocated, so that work ends with its
/// owner.
///
/// Store a scope in the object that the work is for. When the object is deallocated, so is the
/// scope. You don't need to store a task or write a `deinit`. Handlers that refer weakly to the
/// owner don't keep it alive.
///
/// ```swift
/// @MainActor final class FeedModel {
///   private let scope = PromiseScope()
///   private(set) var items: [Item] = []
///
///   func reload() {
///     fetchItems()
///       .bound(to: scope)
///       .done(weak: self) { model, items in model.items = items }
///       .catch { error in show(error) }
///   }
/// }
/// ```
///
/// To wait for the end of the work, too, close the scope, or use ``withPromiseScope(_:)``.
public final class PromiseScope: Sendable {
  /// A piece of work that hasn't ended.
  private enum Work {
    case starting
    /// It was cancelled before it had started.
    case cancelled
    case started(cancel: @Sendable () -> Void)
  }

  private struct State {
    var work: [Int: Work] = [:]
    var nextID = 0
    var isClosed = false
    /// The number of cancellations whose tasks haven't all ended.
    var endingCancellations = 0
    /// The resolvers of the guarantees that the scope's work has ended.
    var ends: [GuaranteeResolver<Void>] = []

    /// Removes the resolvers to fulfill, because no work is left.
    mutating func takeEnds() -> [GuaranteeResolver<Void>] {
      work.isEmpty && endingCancellations == 0 ? exchange(&ends, with: []) : []
    }
  }

  private let state = Mutex(State())

  /// Creates a scope without work.
  public init() {}

  deinit { cancelWork() }

  /// The number of tasks of the scope that haven't ended, and of pending promises that are bound to
  /// it.
  public var pendingCount: Int { state.withLock { $0.work.count } }

  /// Whether ``close()`` was called.
  public var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Cancels all work that is bound to the scope; you can bind further work to it afterward.
  ///
  /// - Complexity: O(number of pending promises).
  public func cancelAll() {
    let tasks = CancelledTasks.collect { cancelWork() }
    if tasks.isEmpty { return }
    // `close()` waits for them, too.
    state.withLock { $0.endingCancellations += 1 }
    tasks.ended(after: .value(())).done(on: .immediate) { [weak self] in
      self?.state.withLock { $0.endingCancellations -= 1 }
      self?.fulfillEnds()
    }
  }

  private func cancelWork() {
    let cancels = state.withLock { state in
      var cancels: [(id: Int, cancel: @Sendable () -> Void)] = []
      for (id, work) in state.work {
        switch work {
        case .starting: state.work[id] = .cancelled
        case .started(let cancel): cancels.append((id, cancel))
        case .cancelled: break
        }
      }
      return cancels
    }
    for (_, cancel) in cancels.sorted(by: { $0.id < $1.id }) { cancel() }
  }

  /// Closes the scope: cancels all work that is bound to it, and returns a guarantee that is
  /// fulfilled when the work has ended.
  ///
  /// ```swift
  /// await scope.close().value
  /// ```
  ///
  /// Work has ended when its promise has settled, all handlers before it have returned, and all
  /// tasks that the scope has cancelled, now or in ``cancelAll()``, have ended; a task that ignores
  /// cancellation delays the guarantee. A task that other code cancelled, through a promise that is
  /// bound to the scope, isn't waited for; an operation that the scope runs is. A producer without a
  /// task, which settles its promise with a resolver, has ended when its `onCancel` handlers have
  /// returned. From now on, work that is bound to the scope is rejected with
  /// ``PromiseError/scopeClosed``, and operations don't start.
  @discardableResult
  public func close() -> Guarantee<Void> {
    let (end, resolver) = Guarantee<Void>.withResolvers()
    state.withLock { $0.isClosed = true }
    cancelAll()
    state.withLock { $0.ends.append(resolver) }
    // The scope lives until its work has ended.
    end.done(on: .immediate) { withExtendedLifetime(self) {} }
    fulfillEnds()
    return end
  }

  /// Runs an asynchronous `operation` that is cancelled when the scope is deallocated or closed.
  ///
  /// If the scope is closed, the promise is rejected with ``PromiseError/scopeClosed``.
  ///
  /// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
  /// Don't capture a strong reference to the owner of the scope, which would keep it alive until
  /// the operation ends.
  @discardableResult
  public func run<T: Sendable>(
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> T
  ) -> Promise<T> {
    guard let id = add() else { return .rejected(PromiseError.scopeClosed) }
    let operation = IsolatedOperation(operation)
    let promise = Promise<T>(calling: operation) { [weak self] in
      // The scope waits for the end of the task, which can come after the promise was cancelled.
      defer { self?.remove(id) }
      return try await operation()
    }
    start(id) { promise.cancel() }
    return promise
  }

  /// Starts `operation`, whose promise is cancelled when the scope is deallocated or closed.
  ///
  /// If `operation` throws, the returned promise is rejected with that error. If the scope is
  /// closed, `operation` isn't called, and the promise is rejected with
  /// ``PromiseError/scopeClosed``.
  ///
  /// **Execution.** `operation` runs inside this call.
  @_disfavoredOverload @discardableResult
  public func run<T: Thenable>(_ operation: () throws -> T) -> Promise<T.Value> {
    if isClosed { return .rejected(PromiseError.scopeClosed) }
    return Promise<T.Value>.attempted { try operation().source }.bound(to: self)
  }

  /// Adds work that is about to start, and returns its number; nil if the scope is closed.
  fileprivate func add() -> Int? {
    state.withLock { state in
      if state.isClosed { return nil }
      defer { state.nextID += 1 }
      state.work[state.nextID] = .starting
      return state.nextID
    }
  }

  fileprivate func start(_ id: Int, cancel: @escaping @Sendable () -> Void) {
    let wasCancelled = state.withLock { state in
      switch state.work[id] {
      case nil: return false
      case .cancelled: return true
      case .starting, .started:
        state.work[id] = .started(cancel: cancel)
        return false
      }
    }
    if wasCancelled { cancel() }
  }

  fileprivate func remove(_ id: Int) {
    let removed = state.withLock { $0.work.removeValue(forKey: id) }
    withExtendedLifetime(removed) {}
    fulfillEnds()
  }

  private func fulfillEnds() {
    for resolver in state.withLock({ $0.takeEnds() }) { resolver.fulfill() }
  }
}

/// Calls `body` with a new scope and, when it has ended, cancels the scope's work that is left and
/// waits for it.
///
/// ```swift
/// await withPromiseScope { scope in
///   for url in urls { scope.run { try await report(url) } }
///   try? await Task.sleep(for: .seconds(10))
/// }
/// // All reports have ended, finished or cancelled.
/// ```
///
/// See ``PromiseScope/close()``. Cancelling the calling task cancels the scope's work.
///
/// **Errors.** Those of `body`.
///
/// **Execution.** `body` runs in the calling task and in the caller's isolation.
nonisolated(nonsending) public func withPromiseScope<Value, Failure: Error>(
  _ body: nonisolated(nonsending) (PromiseScope) async throws(Failure) -> Value
) async throws(Failure) -> Value {
  let scope = PromiseScope()
  let result: Result<Value, Failure> = await withTaskCancellationHandler {
    do throws(Failure) {
      return .success(try await body(scope))
    } catch {
      return .failure(error)
    }
  } onCancel: {
    scope.cancelAll()
  }
  await scope.close().value
  return try result.get()
}

extension Thenable {
  /// Returns a promise with the same result that is cancelled when `scope` is deallocated or closed.
  ///
  /// This promise is then cancelled, too, if it has no other consumer. The scope releases the
  /// promise when it settles. If the scope is closed, this happens immediately, and the returned
  /// promise is rejected with ``PromiseError/scopeClosed``.
  public func bound(to scope: PromiseScope) -> Promise<Value> {
    let promise = source.share()
    guard let id = scope.add() else {
      promise.cancel()
      return .rejected(PromiseError.scopeClosed)
    }
    let bound = Promise.onEnd(of: promise) { [weak scope] in scope?.remove(id) }
    scope.start(id) { promise.cancel() }
    return bound
  }

  /// Calls `body` with `owner` and the value, unless `owner` has been deallocated by then.
  ///
  /// The handler doesn't keep `owner` alive. If `owner` has been deallocated, the returned promise
  /// is rejected with `CancellationError`; if this promise is rejected, or `body` throws, with that
  /// error.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  public func done<Owner: AnyObject & Sendable>(
    weak owner: Owner,
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Owner, Value) throws -> Void
  ) -> Promise<Void> {
    mapped(
      Placed(body).map { body in
        { [weak owner] value in
          guard let owner else { throw CancellationError() }
          try body(owner, value)
        }
      })
  }
}
