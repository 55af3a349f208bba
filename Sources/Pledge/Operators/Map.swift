extension Thenable {
  /// Returns a promise for the result of applying `transform` to this promise's value.
  ///
  /// If this promise is rejected, or `transform` throws, the result is rejected with that error.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func map<U: Sendable>(
    @_inheritActorContext _ transform: @escaping @Sendable @isolated(any) (Value) throws -> U
  ) -> Promise<U> {
    mapped(Placed(transform))
  }

  /// The same as `map(_:)`; `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func map<U: Sendable>(
    on executor: some PromiseExecutor, _ transform: @escaping @Sendable (Value) throws -> U
  ) -> Promise<U> {
    mapped(Placed(transform, on: executor))
  }

  @inlinable
  func mapped<U: Sendable>(
    _ transform: Placed<@Sendable (Value) throws -> U>
  ) -> Promise<U> {
    let cell = source.cell
    if cell.isReady(for: transform.target), let call = InPlaceCall() {
      defer { call.end() }
      return mappedNow(cell, transform.closure)
    }
    return Promise(
      cell: cell.derive(
        U.self, .value, on: transform.target, body: transform.erased
      ) { handler, source in
        let result: U
        do {
          // The closure is released at the end of this statement, before the promise settles.
          result = try handler.takeBody(as: (@Sendable (Value) throws -> U).self)(
            source.value(as: Value.self))
        } catch {
          handler.fail(error)
          return
        }
        handler.finish(result)
      })
  }

  /// Returns what `mapped` returns for a fulfilled `source`, without a handler.
  @inlinable
  func mappedNow<U: Sendable>(
    _ source: Cell, _ transform: (Value) throws -> U
  ) -> Promise<U> {
    do {
      return .value(try transform(source.value(as: Value.self)))
    } catch {
      return Promise(cell: Root<U>(rejection: Rejection(error, origin: nil)))
    }
  }

  /// Returns a promise for the non-nil result of applying `transform` to this promise's value.
  ///
  /// If `transform` returns nil, the result is rejected with ``PromiseError/noValue``. If this
  /// promise is rejected, or `transform` throws, the result is rejected with that error.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func compactMap<U: Sendable>(
    @_inheritActorContext _ transform: @escaping @Sendable @isolated(any) (Value) throws -> U?
  ) -> Promise<U> {
    compactMapped(Placed(transform))
  }

  @inlinable
  func compactMapped<U: Sendable>(
    _ transform: Placed<@Sendable (Value) throws -> U?>
  ) -> Promise<U> {
    mapped(
      transform.map { transform in
        { value in
          guard let result = try transform(value) else { throw PromiseError.noValue }
          return result
        }
      })
  }

  /// Returns a promise that is fulfilled, without a value, when this one is fulfilled.
  @inlinable
  public func asVoid() -> Promise<Void> { mapped(.inPlace { _ in }) }
}

extension Guarantee {
  /// Returns a guarantee for the result of applying `transform` to this guarantee's value.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func map<U: Sendable>(
    @_inheritActorContext _ transform: @escaping @Sendable @isolated(any) (Value) -> U
  ) -> Guarantee<U> {
    guaranteedMap(Placed(transform))
  }

  /// The same as `map(_:)`; `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func map<U: Sendable>(
    on executor: some PromiseExecutor, _ transform: @escaping @Sendable (Value) -> U
  ) -> Guarantee<U> {
    guaranteedMap(Placed(transform, on: executor))
  }

  @inlinable
  func guaranteedMap<U: Sendable>(
    _ transform: Placed<@Sendable (Value) throws -> U>
  ) -> Guarantee<U> {
    Guarantee<U>(cell: mapped(transform).cell)
  }

  /// Returns a guarantee that is fulfilled, without a value, when this one is fulfilled.
  @inlinable
  public func asVoid() -> Guarantee<Void> { guaranteedMap(.inPlace { _ in }) }
}
