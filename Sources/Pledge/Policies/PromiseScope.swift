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
///       .done(weak: self) { model, items in model.items = items }
///       .bound(to: scope)
///       .catch { error in show(error) }
///   }
/// }
/// ```
///
/// Handlers before `bound(to:)` belong to the work: after its cancellation, none of them is called
/// with a result that has already arrived.
///
/// To wait for the end of the work, too, close the scope, or use ``withPromiseScope(_:)``.
public final class PromiseScope: Sendable {
  /// A promise that is bound to the scope.
  ///
  /// `@unchecked Sendable`: guarded by the lock of the scope.
  fileprivate final class Work: @unchecked Sendable {
    /// The promise; nil until it is known, and after the work has ended.
    var promise: Cell?
    var isCancelled = false
    /// The number of things whose end the work waits for: the promise, cancellations of it, and what
    /// these leave behind.
    var parts = 1
    /// Where the work is in the scope's list.
    var place = 0
  }

  private struct State {
    /// The work that hasn't ended, in the order in which it was added.
    var work = RecencyList<Work>()
    var isClosed = false
    /// The resolvers of the guarantees that the scope's work has ended.
    var ends: [GuaranteeResolver<Void>] = []

    mutating func add(_ new: Work) { new.place = work.insert(new) }

    /// Returns the resolvers that the caller must call, if no work is left.
    mutating func takeEnds() -> [GuaranteeResolver<Void>] {
      work.count == 0 ? exchange(&ends, with: []) : []
    }
  }

  private let state = Mutex(State())

  /// Creates a scope without work.
  public init() {}

  deinit {
    // Nothing can wait for the end of the work anymore.
    for work in markAllCancelled() { state.withLock { _ in work.promise }?.cancelWithoutNote() }
  }

  /// The number of bound promises, and of operations of the scope, whose work hasn't ended, as
  /// described in ``close()``.
  public var pendingCount: Int { state.withLock { $0.work.count } }

  /// Whether ``close()`` was called.
  public var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Cancels all work that is bound to the scope, the newest first; you can bind further work to it
  /// afterward.
  ///
  /// - Complexity: O(number of pending promises).
  public func cancelAll() {
    for work in markAllCancelled() { cancel(work) }
  }

  /// Marks all work as cancelled, and returns it, the newest first: a limiter starts a waiting
  /// operation when a running one is cancelled, and the last ones are those that wait.
  private func markAllCancelled() -> [Work] {
    state.withLock { state in
      let all = state.work.newestFirst
      for work in all { work.isCancelled = true }
      return all
    }
  }

  /// Cancels work, whose end waits for what that leaves.
  private func cancel(_ work: Work) {
    let promise = state.withLock { _ in
      if work.promise != nil { work.parts += 1 }
      return work.promise
    }
    if let promise {
      endPart(of: work, promise, after: RemainingWork.collect { promise.cancelWithoutNote() })
    }
  }

  /// Closes the scope: cancels all work that is bound to it, and returns a guarantee that is
  /// fulfilled when the work has ended.
  ///
  /// ```swift
  /// await scope.close().value
  /// ```
  ///
  /// Work has ended when its promise has settled, all handlers before it have returned, and, if it
  /// was cancelled, by the scope or by other code, the tasks that this has cancelled have ended, and
  /// so have the cleanups of `asyncFinally` and `finallyThen`. A task that ignores cancellation delays
  /// the guarantee. A producer without a task, which settles its promise with a resolver, has ended
  /// when its `onCancel` handlers have returned. From now on, work that is bound to the scope is
  /// rejected with ``PromiseError/scopeClosed``, and operations don't start.
  ///
  /// Don't await the guarantee in work of the scope, or in its cleanups: the work would wait for its own
  /// end, and so would every other caller.
  ///
  /// The scope doesn't know about what a combinator leaves when it settles, which is the losers of a
  /// race and the other inputs of an `all` that has failed; what a task starts or awaits after it was
  /// cancelled; and work that other code cancelled before an operator replaced the error. Bind the
  /// inputs of a combinator, and a promise before its timeout:
  ///
  /// ```swift
  /// let page = download(url).bound(to: scope).timeout(after: .seconds(5))
  /// ```
  @discardableResult
  public func close() -> Guarantee<Void> {
    let (end, resolver) = Guarantee<Void>.withResolvers()
    end.cell.noteAwaiting(.scope)
    state.withLock { $0.isClosed = true }
    cancelAll()
    // The scope lives until its work has ended.
    end.done(on: .immediate) { withExtendedLifetime(self) {} }
    let ends = state.withLock { state in
      state.ends.append(resolver)
      return state.takeEnds()
    }
    for resolver in ends { resolver.fulfill() }
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
    bind { IsolatedOperation(operation).start() }
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
    bind { Promise<T.Value>.attempted { try operation().source } }
  }

  /// Returns a promise with the result of the one that `start` returns, as work of the scope; nil if
  /// the scope is closed.
  private func bind<T: Sendable>(_ start: () -> Promise<T>) -> Promise<T> {
    guard let work = add() else { return .rejected(PromiseError.scopeClosed) }
    return bind(work, start().cell)
  }

  fileprivate func bind<T: Sendable>(_ work: Work, _ source: Cell) -> Promise<T> {
    let bound = source.derive(T.self, .copy) { $0.copyResult(of: $1, as: T.self) }
    bound.watchUntraced { [weak self] bound in
      self?.endPart(of: work, bound, after: bound.rejection?.remainingWork ?? [])
    }
    let isCancelled = state.withLock { _ in
      if work.parts > 0 { work.promise = bound }
      return work.isCancelled
    }
    if isCancelled { cancel(work) }
    return Promise(cell: bound)
  }

  /// Adds work that is about to start, and returns it; nil if the scope is closed.
  fileprivate func add() -> Work? {
    let work = Work()
    return state.withLock { state in
      if state.isClosed { return nil }
      state.add(work)
      return work
    }
  }

  /// Discards a promise that was bound after the scope was closed; the scope waits for what that leaves
  /// if it still waits for other work, which can have started the promise.
  fileprivate func discard(_ source: Cell) {
    let work = Work()
    let isAwaited = state.withLock { state in
      if state.work.count == 0 { return false }
      state.add(work)
      return true
    }
    let rest = RemainingWork.collect { source.discard() }
    if isAwaited { endPart(of: work, source, after: rest) }
  }

  /// Records that a part of work has ended, or ends with `rest`, which cancelling `promise` has left.
  private func endPart(of work: Work, _ promise: Cell? = nil, after rest: [RemainingWork]) {
    if !rest.isEmpty {
      let end = rest.ended()
      if let promise { end.cell.noteAwaiting(promise) }
      end.done(on: .immediate) { [weak self] in self?.endPart(of: work, after: []) }
      return
    }
    let (promise, ends) = state.withLock { state in
      work.parts -= 1
      if work.parts > 0 { return (nil as Cell?, [] as [GuaranteeResolver<Void>]) }
      state.work.remove(work, at: work.place)
      return (exchange(&work.promise, with: nil), state.takeEnds())
    }
    // The last reference to the promise can be the scope's.
    withExtendedLifetime(promise) {}
    for resolver in ends { resolver.fulfill() }
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
  /// Call this after the handlers that must not be called after the cancellation. A handler of the
  /// returned promise can still receive a result that arrived while its executor was busy.
  ///
  /// This promise is then cancelled, too, if it has no other consumer. The scope releases the
  /// promise when it settles. If the scope is closed, this happens immediately, and the returned
  /// promise is rejected with ``PromiseError/scopeClosed``.
  public func bound(to scope: PromiseScope) -> Promise<Value> {
    guard let work = scope.add() else {
      scope.discard(source.cell)
      return .rejected(PromiseError.scopeClosed)
    }
    return scope.bind(work, source.cell)
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
          guard let owner else {
            Instrumentation.noteSkippedClosure()
            throw CancellationError()
          }
          try body(owner, value)
        }
      })
  }
}
