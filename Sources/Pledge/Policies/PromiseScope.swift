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
public final class PromiseScope: Sendable {
  private struct State {
    var cancels: [Int: @Sendable () -> Void] = [:]
    var nextID = 0
  }

  private let state = Mutex(State())

  /// Creates a scope without work.
  public init() {}

  deinit { cancelAll() }

  /// The number of pending promises that are bound to the scope.
  public var pendingCount: Int { state.withLock { $0.cancels.count } }

  /// Cancels all work that is bound to the scope; you can bind further work to it afterward.
  ///
  /// - Complexity: O(number of pending promises).
  public func cancelAll() {
    let cancels = state.withLock { exchange(&$0.cancels, with: [:]) }
    for cancel in cancels.sorted(by: { $0.key < $1.key }) { cancel.value() }
  }

  /// Runs an asynchronous `operation` that is cancelled when the scope is deallocated.
  ///
  /// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
  /// Don't capture a strong reference to the owner of the scope, which would keep it alive until
  /// the operation ends.
  @discardableResult
  public func run<T: Sendable>(
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> T
  ) -> Promise<T> {
    Promise<T>(priority: nil, operation).bound(to: self)
  }

  /// Starts `operation`, whose promise is cancelled when the scope is deallocated.
  ///
  /// If `operation` throws, the returned promise is rejected with that error.
  ///
  /// **Execution.** `operation` runs inside this call.
  @_disfavoredOverload @discardableResult
  public func run<T: Thenable>(_ operation: () throws -> T) -> Promise<T.Value> {
    Promise<T.Value>.attempted { try operation().source }.bound(to: self)
  }

  fileprivate func add(_ cancel: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      defer { state.nextID += 1 }
      state.cancels[state.nextID] = cancel
      return state.nextID
    }
  }

  fileprivate func remove(_ id: Int) {
    let removed = state.withLock { $0.cancels.removeValue(forKey: id) }
    withExtendedLifetime(removed) {}
  }
}

extension Thenable {
  /// Returns a promise with the same result that is cancelled when `scope` is deallocated.
  ///
  /// This promise is then cancelled, too, if it has no other consumer. The scope releases the
  /// promise when it settles.
  public func bound(to scope: PromiseScope) -> Promise<Value> {
    let promise = source.share()
    let id = scope.add { promise.cancel() }
    return .onEnd(of: promise) { [weak scope] in scope?.remove(id) }
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
    let target = HandlerTarget(isolation: body.isolation)
    let body = Isolated(body).assumingIsolated(as: (@Sendable (Owner, Value) throws -> Void).self)
    return mapped(target) { [weak owner] value in
      guard let owner else { throw CancellationError() }
      try body(owner, value)
    }
  }
}
