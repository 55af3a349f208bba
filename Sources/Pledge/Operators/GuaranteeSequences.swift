// Operators on guarantees of sequences with closures that don't throw: the result is a guarantee,
// too. With closures that throw, the result is a promise.

extension Guarantee where Value: Sequence, Value.Element: Sendable {
  /// Returns a guarantee for the results of applying `transform` to each element.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func mapValues<U: Sendable>(
    @_inheritActorContext _ transform: @escaping @Sendable @isolated(any) (Value.Element) -> U
  ) -> Guarantee<[U]> {
    let target = HandlerTarget(isolation: transform.isolation)
    let transform = Isolated(transform).assumingIsolated(as: (@Sendable (Value.Element) -> U).self)
    return guaranteedMap(target) { value in value.map(transform) }
  }

  /// Returns a guarantee for the results of applying `transform` to each element.
  ///
  /// **Execution.** `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func mapValues<U: Sendable>(
    on executor: some PromiseExecutor, _ transform: @escaping @Sendable (Value.Element) -> U
  ) -> Guarantee<[U]> {
    guaranteedMap(HandlerTarget(executor)) { value in value.map(transform) }
  }

  /// Returns a guarantee for the results of applying `transform` to each element.
  ///
  /// **Execution.** `transform` runs on the main actor.
  @inlinable
  public func mapValues<U: Sendable>(
    on executor: MainExecutor, _ transform: @escaping @MainActor @Sendable (Value.Element) -> U
  ) -> Guarantee<[U]> { mapValues(transform) }

  /// Returns a guarantee for the non-nil results of applying `transform` to each element.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func compactMapValues<U: Sendable>(
    @_inheritActorContext _ transform: @escaping @Sendable @isolated(any) (Value.Element) -> U?
  ) -> Guarantee<[U]> {
    let target = HandlerTarget(isolation: transform.isolation)
    let transform = Isolated(transform).assumingIsolated(as: (@Sendable (Value.Element) -> U?).self)
    return guaranteedMap(target) { value in value.compactMap(transform) }
  }

  /// Returns a guarantee for the non-nil results of applying `transform` to each element.
  ///
  /// **Execution.** `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func compactMapValues<U: Sendable>(
    on executor: some PromiseExecutor, _ transform: @escaping @Sendable (Value.Element) -> U?
  ) -> Guarantee<[U]> {
    guaranteedMap(HandlerTarget(executor)) { value in value.compactMap(transform) }
  }

  /// Returns a guarantee for the non-nil results of applying `transform` to each element.
  ///
  /// **Execution.** `transform` runs on the main actor.
  @inlinable
  public func compactMapValues<U: Sendable>(
    on executor: MainExecutor, _ transform: @escaping @MainActor @Sendable (Value.Element) -> U?
  ) -> Guarantee<[U]> { compactMapValues(transform) }

  /// Returns a guarantee for the elements that `isIncluded` accepts.
  ///
  /// **Execution.** `isIncluded` runs in the isolation in which it was written.
  @inlinable
  public func filterValues(
    @_inheritActorContext _ isIncluded: @escaping @Sendable @isolated(any) (Value.Element) -> Bool
  ) -> Guarantee<[Value.Element]> {
    let target = HandlerTarget(isolation: isIncluded.isolation)
    let isIncluded = Isolated(isIncluded).assumingIsolated(
      as: (@Sendable (Value.Element) -> Bool).self)
    return guaranteedMap(target) { value in value.filter(isIncluded) }
  }

  /// Returns a guarantee for the elements that `isIncluded` accepts.
  ///
  /// **Execution.** `isIncluded` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func filterValues(
    on executor: some PromiseExecutor, _ isIncluded: @escaping @Sendable (Value.Element) -> Bool
  ) -> Guarantee<[Value.Element]> {
    guaranteedMap(HandlerTarget(executor)) { value in value.filter(isIncluded) }
  }

  /// Returns a guarantee for the elements that `isIncluded` accepts.
  ///
  /// **Execution.** `isIncluded` runs on the main actor.
  @inlinable
  public func filterValues(
    on executor: MainExecutor, _ isIncluded: @escaping @MainActor @Sendable (Value.Element) -> Bool
  ) -> Guarantee<[Value.Element]> { filterValues(isIncluded) }
}

extension Guarantee where Value: Sequence, Value.Element: Sendable {
  /// Returns a guarantee for the elements of all the sequences that `transform` returns, in order.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func flatMapValues<U: Sequence & Sendable>(
    @_inheritActorContext _ transform: @escaping @Sendable @isolated(any) (Value.Element) -> U
  ) -> Guarantee<[U.Element]> where U.Element: Sendable {
    let target = HandlerTarget(isolation: transform.isolation)
    let transform = Isolated(transform).assumingIsolated(as: (@Sendable (Value.Element) -> U).self)
    return guaranteedMap(target) { value in value.flatMap(transform) }
  }

  /// Returns a guarantee for the elements of all the sequences that `transform` returns, in order.
  ///
  /// **Execution.** `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func flatMapValues<U: Sequence & Sendable>(
    on executor: some PromiseExecutor, _ transform: @escaping @Sendable (Value.Element) -> U
  ) -> Guarantee<[U.Element]> where U.Element: Sendable {
    guaranteedMap(HandlerTarget(executor)) { value in value.flatMap(transform) }
  }

  /// Returns a guarantee for the elements of all the sequences that `transform` returns, in order.
  ///
  /// **Execution.** `transform` runs on the main actor.
  @inlinable
  public func flatMapValues<U: Sequence & Sendable>(
    on executor: MainExecutor, _ transform: @escaping @MainActor @Sendable (Value.Element) -> U
  ) -> Guarantee<[U.Element]> where U.Element: Sendable { flatMapValues(transform) }

  /// Calls `transform` with each element and returns a guarantee for all the values, in order.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func thenMap<U: Sendable>(
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (Value.Element) -> Guarantee<U>
  ) -> Guarantee<[U]> {
    let target = HandlerTarget(isolation: transform.isolation)
    let transform = Isolated(transform).assumingIsolated(
      as: (@Sendable (Value.Element) -> Guarantee<U>).self)
    return guaranteedThen(target) { value in .all(value.map(transform)) }
  }

  /// Calls `transform` with each element and returns a guarantee for all the values, in order.
  ///
  /// **Execution.** `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func thenMap<U: Sendable>(
    on executor: some PromiseExecutor,
    _ transform: @escaping @Sendable (Value.Element) -> Guarantee<U>
  ) -> Guarantee<[U]> {
    guaranteedThen(HandlerTarget(executor)) { value in .all(value.map(transform)) }
  }

  /// Calls `transform` with each element and returns a guarantee for all the values, in order.
  ///
  /// **Execution.** `transform` runs on the main actor.
  @inlinable
  public func thenMap<U: Sendable>(
    on executor: MainExecutor,
    _ transform: @escaping @MainActor @Sendable (Value.Element) -> Guarantee<U>
  ) -> Guarantee<[U]> { thenMap(transform) }

  /// Returns a guarantee for the elements combined into one value, from left to right.
  ///
  /// **Execution.** `combine` runs in the isolation in which it was written.
  @inlinable
  public func reduceValues<U: Sendable>(
    _ initial: U,
    @_inheritActorContext _ combine: @escaping @Sendable @isolated(any) (U, Value.Element) -> U
  ) -> Guarantee<U> {
    let target = HandlerTarget(isolation: combine.isolation)
    let combine = Isolated(combine).assumingIsolated(as: (@Sendable (U, Value.Element) -> U).self)
    return guaranteedMap(target) { value in value.reduce(initial, combine) }
  }

  /// Returns a guarantee for the elements combined into one value, from left to right.
  ///
  /// **Execution.** `combine` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func reduceValues<U: Sendable>(
    on executor: some PromiseExecutor, _ initial: U,
    _ combine: @escaping @Sendable (U, Value.Element) -> U
  ) -> Guarantee<U> {
    guaranteedMap(HandlerTarget(executor)) { value in value.reduce(initial, combine) }
  }

  /// Returns a guarantee for the elements combined into one value, from left to right.
  ///
  /// **Execution.** `combine` runs on the main actor.
  @inlinable
  public func reduceValues<U: Sendable>(
    on executor: MainExecutor, _ initial: U,
    _ combine: @escaping @MainActor @Sendable (U, Value.Element) -> U
  ) -> Guarantee<U> { reduceValues(initial, combine) }

  /// Returns a guarantee for the elements sorted by `areInIncreasingOrder`.
  ///
  /// **Execution.** `areInIncreasingOrder` runs in the isolation in which it was written.
  @inlinable
  public func sortedValues(
    @_inheritActorContext by areInIncreasingOrder:
      @escaping @Sendable @isolated(any) (Value.Element, Value.Element) -> Bool
  ) -> Guarantee<[Value.Element]> {
    let target = HandlerTarget(isolation: areInIncreasingOrder.isolation)
    let areInIncreasingOrder = Isolated(areInIncreasingOrder).assumingIsolated(
      as: (@Sendable (Value.Element, Value.Element) -> Bool).self)
    return guaranteedMap(target) { $0.sorted(by: areInIncreasingOrder) }
  }
}

extension Guarantee where Value: Sequence, Value.Element: Sendable & Comparable {
  /// Returns a guarantee for the elements in ascending order.
  ///
  /// **Execution.** The elements are compared in place, as in a handler on `.immediate`.
  @inlinable
  public func sortedValues() -> Guarantee<[Value.Element]> {
    guaranteedMap(HandlerTarget(programInPlace: ())) { $0.sorted() }
  }
}

extension Guarantee {
  /// Calls `body` with the result, and passes the value on.
  ///
  /// The result of a broken guarantee is its error.
  ///
  /// **Execution.** `body` runs in the isolation in which it was written.
  @inlinable
  public func tap(
    @_inheritActorContext _ body:
      @escaping @Sendable @isolated(any) (Result<Value, any Error>) -> Void
  ) -> Guarantee<Value> {
    let target = HandlerTarget(isolation: body.isolation)
    let body = Isolated(body).assumingIsolated(
      as: (@Sendable (Result<Value, any Error>) -> Void).self)
    return Guarantee(cell: base.tapped(target, body).cell)
  }
}
