// Operators on promises of sequences. Each makes one hop for the whole sequence: the closure is
// called with one element after the other, in order.

extension Thenable where Value: Sequence, Value.Element: Sendable {
  /// Returns a promise for the results of applying `transform` to each element.
  ///
  /// If `transform` throws, the result is rejected with that error.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func mapValues<U: Sendable>(
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (Value.Element) throws -> U
  ) -> Promise<[U]> {
    mappedValues(
      HandlerTarget(isolation: transform.isolation),
      Isolated(transform).assumingIsolated(as: (@Sendable (Value.Element) throws -> U).self))
  }

  /// Returns a promise for the results of applying `transform` to each element.
  ///
  /// If `transform` throws, the result is rejected with that error.
  ///
  /// **Execution.** `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func mapValues<U: Sendable>(
    on executor: some PromiseExecutor, _ transform: @escaping @Sendable (Value.Element) throws -> U
  ) -> Promise<[U]> {
    mappedValues(HandlerTarget(executor), transform)
  }

  /// Returns a promise for the elements of all the sequences that `transform` returns, in order.
  ///
  /// If `transform` throws, the result is rejected with that error.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func flatMapValues<U: Sequence & Sendable>(
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (Value.Element) throws -> U
  ) -> Promise<[U.Element]> where U.Element: Sendable {
    flatMappedValues(
      HandlerTarget(isolation: transform.isolation),
      Isolated(transform).assumingIsolated(as: (@Sendable (Value.Element) throws -> U).self))
  }

  /// Returns a promise for the elements of all the sequences that `transform` returns, in order.
  ///
  /// If `transform` throws, the result is rejected with that error.
  ///
  /// **Execution.** `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func flatMapValues<U: Sequence & Sendable>(
    on executor: some PromiseExecutor, _ transform: @escaping @Sendable (Value.Element) throws -> U
  ) -> Promise<[U.Element]> where U.Element: Sendable {
    flatMappedValues(HandlerTarget(executor), transform)
  }

  /// Returns a promise for the non-nil results of applying `transform` to each element.
  ///
  /// If `transform` throws, the result is rejected with that error.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func compactMapValues<U: Sendable>(
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (Value.Element) throws -> U?
  ) -> Promise<[U]> {
    compactMappedValues(
      HandlerTarget(isolation: transform.isolation),
      Isolated(transform).assumingIsolated(as: (@Sendable (Value.Element) throws -> U?).self))
  }

  /// Returns a promise for the non-nil results of applying `transform` to each element.
  ///
  /// If `transform` throws, the result is rejected with that error.
  ///
  /// **Execution.** `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func compactMapValues<U: Sendable>(
    on executor: some PromiseExecutor, _ transform: @escaping @Sendable (Value.Element) throws -> U?
  ) -> Promise<[U]> {
    compactMappedValues(HandlerTarget(executor), transform)
  }

  /// Returns a promise for the elements that `isIncluded` accepts.
  ///
  /// If `isIncluded` throws, the result is rejected with that error.
  ///
  /// **Execution.** `isIncluded` runs in the isolation in which it was written.
  @inlinable
  public func filterValues(
    @_inheritActorContext _ isIncluded:
      @escaping @Sendable @isolated(any) (Value.Element) throws -> Bool
  ) -> Promise<[Value.Element]> {
    filteredValues(
      HandlerTarget(isolation: isIncluded.isolation),
      Isolated(isIncluded).assumingIsolated(as: (@Sendable (Value.Element) throws -> Bool).self))
  }

  /// Returns a promise for the elements that `isIncluded` accepts.
  ///
  /// If `isIncluded` throws, the result is rejected with that error.
  ///
  /// **Execution.** `isIncluded` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func filterValues(
    on executor: some PromiseExecutor,
    _ isIncluded: @escaping @Sendable (Value.Element) throws -> Bool
  ) -> Promise<[Value.Element]> {
    filteredValues(HandlerTarget(executor), isIncluded)
  }

  /// Calls `transform` with each element and returns a promise for all the values, in order.
  ///
  /// The calls don't wait for the promises that `transform` returns. The first rejection rejects
  /// the result.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func thenMap<U: Sendable>(
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (Value.Element) throws -> Promise<U>
  ) -> Promise<[U]> {
    chainedValues(
      HandlerTarget(isolation: transform.isolation),
      Isolated(transform).assumingIsolated(
        as: (@Sendable (Value.Element) throws -> Promise<U>).self))
  }

  /// Calls `transform` with each element and returns a promise for all the values, in order.
  ///
  /// The calls don't wait for the promises that `transform` returns. The first rejection rejects
  /// the result.
  ///
  /// **Execution.** `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func thenMap<U: Sendable>(
    on executor: some PromiseExecutor,
    _ transform: @escaping @Sendable (Value.Element) throws -> Promise<U>
  ) -> Promise<[U]> {
    chainedValues(HandlerTarget(executor), transform)
  }

  /// Calls `transform` with each element and returns a promise for the elements of all the values.
  ///
  /// The calls don't wait for the promises that `transform` returns. The first rejection rejects
  /// the result.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable
  public func thenFlatMap<U: Sequence & Sendable>(
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (Value.Element) throws -> Promise<U>
  ) -> Promise<[U.Element]> where U.Element: Sendable {
    flatChainedValues(
      HandlerTarget(isolation: transform.isolation),
      Isolated(transform).assumingIsolated(
        as: (@Sendable (Value.Element) throws -> Promise<U>).self))
  }

  /// Calls `transform` with each element and returns a promise for the elements of all the values.
  ///
  /// The calls don't wait for the promises that `transform` returns. The first rejection rejects
  /// the result.
  ///
  /// **Execution.** `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func thenFlatMap<U: Sequence & Sendable>(
    on executor: some PromiseExecutor,
    _ transform: @escaping @Sendable (Value.Element) throws -> Promise<U>
  ) -> Promise<[U.Element]> where U.Element: Sendable {
    flatChainedValues(HandlerTarget(executor), transform)
  }

  /// Returns a promise for the first element that `predicate` accepts.
  ///
  /// If there is none, the result is rejected with ``PromiseError/noElement``.
  ///
  /// **Execution.** `predicate` runs in the isolation in which it was written.
  @inlinable
  public func firstValue(
    @_inheritActorContext where predicate:
      @escaping @Sendable @isolated(any) (Value.Element) throws -> Bool
  ) -> Promise<Value.Element> {
    firstMatch(
      HandlerTarget(isolation: predicate.isolation),
      Isolated(predicate).assumingIsolated(as: (@Sendable (Value.Element) throws -> Bool).self))
  }

  /// Returns a promise for the first element that `predicate` accepts.
  ///
  /// If there is none, the result is rejected with ``PromiseError/noElement``.
  ///
  /// **Execution.** `predicate` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func firstValue(
    on executor: some PromiseExecutor,
    where predicate: @escaping @Sendable (Value.Element) throws -> Bool
  ) -> Promise<Value.Element> {
    firstMatch(HandlerTarget(executor), predicate)
  }

  /// Returns a promise for the elements combined into one value, from left to right.
  ///
  /// **Execution.** `combine` runs in the isolation in which it was written.
  @inlinable
  public func reduceValues<U: Sendable>(
    _ initial: U,
    @_inheritActorContext _ combine:
      @escaping @Sendable @isolated(any) (U, Value.Element) throws -> U
  ) -> Promise<U> {
    reducedValues(
      initial, HandlerTarget(isolation: combine.isolation),
      Isolated(combine).assumingIsolated(as: (@Sendable (U, Value.Element) throws -> U).self))
  }

  /// Returns a promise for the elements combined into one value, from left to right.
  ///
  /// **Execution.** `combine` runs on `executor`.
  @inlinable @_disfavoredOverload
  public func reduceValues<U: Sendable>(
    on executor: some PromiseExecutor, _ initial: U,
    _ combine: @escaping @Sendable (U, Value.Element) throws -> U
  ) -> Promise<U> {
    reducedValues(initial, HandlerTarget(executor), combine)
  }
}

extension Thenable where Value: Sequence, Value.Element: Sendable {
  /// Returns a promise for the elements sorted by `areInIncreasingOrder`.
  ///
  /// Use it for elements that aren't `Comparable`, or whose `Comparable` conformance is isolated to
  /// an actor: `sortedValues { $0 < $1 }`.
  ///
  /// **Execution.** `areInIncreasingOrder` runs in the isolation in which it was written.
  @inlinable
  public func sortedValues(
    @_inheritActorContext by areInIncreasingOrder:
      @escaping @Sendable @isolated(any) (Value.Element, Value.Element) throws -> Bool
  ) -> Promise<[Value.Element]> {
    let target = HandlerTarget(isolation: areInIncreasingOrder.isolation)
    let areInIncreasingOrder = Isolated(areInIncreasingOrder).assumingIsolated(
      as: (@Sendable (Value.Element, Value.Element) throws -> Bool).self)
    return mapped(target) { try $0.sorted(by: areInIncreasingOrder) }
  }
}

extension Thenable where Value: Sequence, Value.Element: Sendable & Comparable {
  /// Returns a promise for the elements in ascending order.
  ///
  /// **Execution.** The elements are compared in place, as in a handler on `.immediate`.
  @inlinable
  public func sortedValues() -> Promise<[Value.Element]> {
    mapped(HandlerTarget(programInPlace: ())) { $0.sorted() }
  }
}

extension Thenable where Value: Collection, Value.Element: Sendable {
  /// A promise for the first element; rejected with ``PromiseError/noElement`` if there is none.
  @inlinable
  public var firstValue: Promise<Value.Element> {
    mapped(HandlerTarget(programInPlace: ())) { value in
      guard let first = value.first else { throw PromiseError.noElement }
      return first
    }
  }
}

extension Thenable where Value: BidirectionalCollection, Value.Element: Sendable {
  /// A promise for the last element; rejected with ``PromiseError/noElement`` if there is none.
  @inlinable
  public var lastValue: Promise<Value.Element> {
    mapped(HandlerTarget(programInPlace: ())) { value in
      guard let last = value.last else { throw PromiseError.noElement }
      return last
    }
  }
}

// MARK: - Implementation

extension Thenable where Value: Sequence, Value.Element: Sendable {
  @inlinable
  func mappedValues<U: Sendable>(
    _ target: HandlerTarget, _ transform: @escaping @Sendable (Value.Element) throws -> U
  ) -> Promise<[U]> {
    mapped(target) { value in try value.map(transform) }
  }

  @inlinable
  func flatMappedValues<U: Sequence & Sendable>(
    _ target: HandlerTarget, _ transform: @escaping @Sendable (Value.Element) throws -> U
  ) -> Promise<[U.Element]> where U.Element: Sendable {
    mapped(target) { value in try value.flatMap(transform) }
  }

  @inlinable
  func compactMappedValues<U: Sendable>(
    _ target: HandlerTarget, _ transform: @escaping @Sendable (Value.Element) throws -> U?
  ) -> Promise<[U]> {
    mapped(target) { value in try value.compactMap(transform) }
  }

  @inlinable
  func filteredValues(
    _ target: HandlerTarget, _ isIncluded: @escaping @Sendable (Value.Element) throws -> Bool
  ) -> Promise<[Value.Element]> {
    mapped(target) { value in try value.filter(isIncluded) }
  }

  @inlinable
  func chainedValues<U: Sendable>(
    _ target: HandlerTarget, _ transform: @escaping @Sendable (Value.Element) throws -> Promise<U>
  ) -> Promise<[U]> {
    chained(target) { value in Promise<[U]>.all(try value.map(transform)) }
  }

  @inlinable
  func flatChainedValues<U: Sequence & Sendable>(
    _ target: HandlerTarget, _ transform: @escaping @Sendable (Value.Element) throws -> Promise<U>
  ) -> Promise<[U.Element]> where U.Element: Sendable {
    chainedValues(target, transform)
      .mapped(HandlerTarget(programInPlace: ())) { $0.flatMap { $0 } }
  }

  @inlinable
  func firstMatch(
    _ target: HandlerTarget, _ predicate: @escaping @Sendable (Value.Element) throws -> Bool
  ) -> Promise<Value.Element> {
    mapped(target) { value in
      guard let first = try value.first(where: predicate) else { throw PromiseError.noElement }
      return first
    }
  }

  @inlinable
  func reducedValues<U: Sendable>(
    _ initial: U, _ target: HandlerTarget,
    _ combine: @escaping @Sendable (U, Value.Element) throws -> U
  ) -> Promise<U> {
    mapped(target) { value in try value.reduce(initial, combine) }
  }
}
