// With `on: .main`, the compiler knows that closures run on the main actor: they can use state that
// is isolated to it. Otherwise, these overloads are the same as those without `on:`.

extension Thenable {
  /// Returns a promise for the result of applying `body`, on the main actor, to the value.
  @inlinable
  public func map<U: Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> U
  ) -> Promise<U> { map(body) }

  /// Returns a promise for the non-nil result of applying `body`, on the main actor, to the value.
  @inlinable
  public func compactMap<U: Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> U?
  ) -> Promise<U> { compactMap(body) }

  /// Returns a promise for the result of the promise that `body`, on the main actor, returns.
  @inlinable
  public func then<U: Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> Promise<U>
  ) -> Promise<U> { then(body) }

  /// Returns a promise for the result of the thenable that `body`, on the main actor, returns.
  @inlinable @_disfavoredOverload
  public func then<T: Thenable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> T
  ) -> Promise<T.Value> { then(body) }

  /// Calls `body` with the value on the main actor.
  @inlinable
  public func done(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> Void
  ) -> Promise<Void> { done(body) }

  /// Calls `body` with the value on the main actor, and passes the value on.
  @inlinable
  public func get(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> Void
  ) -> Promise<Value> { get(body) }

  /// Calls `body` with the result on the main actor, and passes it on.
  @inlinable
  public func tap(
    on executor: MainExecutor,
    _ body: @escaping @MainActor @Sendable (Result<Value, any Error>) -> Void
  ) -> Promise<Value> { tap(body) }

  /// Calls `body` with the result on the main actor, without being a consumer of the promise.
  @inlinable
  public func watch(
    on executor: MainExecutor,
    _ body: @escaping @MainActor @Sendable (Result<Value, any Error>) -> Void
  ) { watch(body) }

  /// Passes the value on if `body`, on the main actor, accepts it.
  @inlinable
  public func validate(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) throws -> Bool
  ) -> Promise<Value> { validate(body) }

  /// Combines the value with each of `elements`, one after the other, on the main actor.
  @inlinable
  public func reduce<S: Sequence & Sendable>(
    on executor: MainExecutor, _ elements: S,
    _ body: @escaping @MainActor @Sendable (Value, S.Element) throws -> Promise<Value>
  ) -> Promise<Value>
  where S.Element: Sendable { reduce(elements, body) }
}

extension Guarantee {
  /// Creates a guarantee for the value of `work`, which runs on the main actor.
  @inlinable
  public init(on executor: MainExecutor, _ work: @escaping @MainActor @Sendable () -> Value) {
    self = Guarantee<Void>.value(()).map { @MainActor _ in work() }
  }

  /// Returns a guarantee for the result of applying `body`, on the main actor, to the value.
  @inlinable
  public func map<U: Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) -> U
  ) -> Guarantee<U> { map(body) }

  /// Returns a guarantee for the value of the guarantee that `body`, on the main actor, returns.
  @inlinable
  public func then<U: Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) -> Guarantee<U>
  ) -> Guarantee<U> { then(body) }

  /// Calls `body` with the value on the main actor.
  @inlinable @discardableResult
  public func done(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) -> Void
  ) -> Guarantee<Void> { done(body) }

  /// Calls `body` with the value on the main actor, and passes the value on.
  @inlinable
  public func get(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value) -> Void
  ) -> Guarantee<Value> { get(body) }

  /// Calls `body` on the main actor when this guarantee is fulfilled or broken.
  @inlinable @discardableResult
  public func finally<R>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable () -> R
  ) -> Guarantee<Value> { finally(body) }
}

extension Promise {
  /// Handles the error on the main actor and ends the chain.
  @inlinable @discardableResult
  public func `catch`(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) -> Void
  ) -> Guarantee<Void> { `catch`(body) }

  /// Handles errors of the type `only` on the main actor; other errors pass through.
  @inlinable
  public func `catch`<E: Error>(
    on executor: MainExecutor, only: E.Type, _ body: @escaping @MainActor @Sendable (E) -> Void
  ) -> Promise<Void> { `catch`(only: only, body) }

  /// Handles the error `only` on the main actor; other errors pass through.
  @inlinable
  public func `catch`<E: Error & Equatable>(
    on executor: MainExecutor, only: E, _ body: @escaping @MainActor @Sendable () -> Void
  ) -> Promise<Void> { `catch`(only: only, body) }

  /// Replaces an error with the promise that `body`, on the main actor, returns.
  @inlinable
  public func recover(
    on executor: MainExecutor,
    _ body: @escaping @MainActor @Sendable (any Error) throws -> Promise<Value>
  ) -> Promise<Value> { recover(body) }

  /// Replaces an error with the guarantee that `body`, on the main actor, returns.
  @inlinable
  public func recover(
    on executor: MainExecutor, as type: Guarantee<Value>.Type = Guarantee<Value>.self,
    _ body: @escaping @MainActor @Sendable (any Error) -> Guarantee<Value>
  ) -> Guarantee<Value> { recover(body) }

  /// Replaces an error of the type `only` with the promise that `body`, on the main actor, returns.
  @inlinable
  public func recover<E: Error>(
    on executor: MainExecutor, only: E.Type,
    _ body: @escaping @MainActor @Sendable (E) throws -> Promise<Value>
  ) -> Promise<Value> { recover(only: only, body) }

  /// Replaces the error `only` with the promise that `body`, on the main actor, returns.
  @inlinable
  public func recover<E: Error & Equatable>(
    on executor: MainExecutor, only: E,
    _ body: @escaping @MainActor @Sendable () throws -> Promise<Value>
  ) -> Promise<Value> { recover(only: only, body) }

  /// Replaces an error with the value that `body`, on the main actor, returns.
  @inlinable
  public func replaceError(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (any Error) -> Value
  ) -> Guarantee<Value> { replaceError(body) }

  /// Replaces an error of the type `only` with the value that `body`, on the main actor, returns.
  @inlinable
  public func replaceError<E: Error>(
    on executor: MainExecutor, only: E.Type,
    _ body: @escaping @MainActor @Sendable (E) throws -> Value
  ) -> Promise<Value> { replaceError(only: only, body) }

  /// Replaces the error `only` with the value that `body`, on the main actor, returns.
  @inlinable
  public func replaceError<E: Error & Equatable>(
    on executor: MainExecutor, only: E, _ body: @escaping @MainActor @Sendable () throws -> Value
  ) -> Promise<Value> { replaceError(only: only, body) }

  /// Replaces an error with the error that `body`, on the main actor, returns.
  @inlinable
  public func mapError(
    on executor: MainExecutor,
    _ body: @escaping @MainActor @Sendable (any Error) throws -> any Error
  ) -> Promise<Value> { mapError(body) }

  /// Calls `body` on the main actor when this promise has settled.
  @inlinable
  public func finally<R>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable () throws -> R
  ) -> Promise<Value> { finally(body) }

  /// Creates a promise for the result of `work`, which runs on the main actor.
  @inlinable
  public init(on executor: MainExecutor, _ work: @escaping @MainActor @Sendable () throws -> Value)
  {
    self = Promise<Void>.value(()).map { @MainActor _ in try work() }
  }

  /// Calls `handler` on the main actor once, with the result; returns no promise.
  ///
  /// The error, if any, counts as handled.
  public func observe(
    on executor: MainExecutor,
    _ handler: @escaping @MainActor @Sendable (Result<Value, any Error>) -> Void
  ) {
    observed(.result, Placed(handler))
  }
}
