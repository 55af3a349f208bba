// `on: .main` means the main actor to the compiler, too: the closures of these overloads may touch
// what is isolated to it. All else is as without `on:`. (Not `recover`, which has too many forms:
// there, mark the closure itself with `@MainActor`.)

extension Thenable {
  /// Returns a promise of what `body`, on the main actor, makes of the value.
  @inlinable
  public func map<U: Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> U
  ) -> Promise<U> { map(body) }

  /// Returns a promise of what `body`, on the main actor, makes of the value, unless that is nil.
  @inlinable
  public func compactMap<U: Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> U?
  ) -> Promise<U> { compactMap(body) }

  /// Returns a promise that takes on the fate of the one that `body`, on the main actor, returns.
  @inlinable
  public func then<U: Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> Promise<U>
  ) -> Promise<U> { then(body) }

  /// Calls `body` with the value on the main actor; what comes of it has none.
  @inlinable
  public func done(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> Void
  ) -> Promise<Void> { done(body) }

  /// Calls `body` with the value on the main actor, and passes the value on.
  @inlinable
  public func get(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> Void
  ) -> Promise<Value> { get(body) }

  /// Calls `body` with the outcome on the main actor, and passes it on.
  @inlinable
  public func tap(
    on executor: MainExecutor,
    _ body: @escaping @MainActor @Sendable (Result<Value, any Error>) -> Void
  ) -> Promise<Value> { tap(body) }
}

extension Guarantee {
  /// Returns a guarantee of what `body`, on the main actor, makes of the value.
  @inlinable
  public func map<U: Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) -> U
  ) -> Guarantee<U> { map(body) }

  /// Returns a guarantee that takes on the fate of the one that `body`, on the main actor, returns.
  @inlinable
  public func then<U: Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) -> Guarantee<U>
  ) -> Guarantee<U> { then(body) }

  /// Calls `body` with the value on the main actor; what comes of it has none.
  @inlinable @discardableResult
  public func done(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) -> Void
  ) -> Guarantee<Void> { done(body) }

  /// Calls `body` with the value on the main actor, and passes the value on.
  @inlinable
  public func get(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) -> Void
  ) -> Guarantee<Value> { get(body) }

  /// Calls `body` on the main actor when this guarantee is fulfilled, or broken.
  @inlinable @discardableResult
  public func finally(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable () -> Void
  ) -> Guarantee<Value> { finally(body) }
}

extension Promise {
  /// Handles the error on the main actor, whatever it is, and ends the chain.
  @inlinable @discardableResult
  public func `catch`(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) -> Void
  ) -> Guarantee<Void> { `catch`(body) }

  /// Calls `body` on the main actor when this promise has settled, whatever the outcome.
  @inlinable
  public func finally(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable () throws -> Void
  ) -> Promise { finally(body) }
}
