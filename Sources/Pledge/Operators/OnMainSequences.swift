// `on: .main` for the operators on promises of sequences; see OnMain.swift.

extension Thenable where Value: Sequence, Value.Element: Sendable {
  /// Returns a promise for the results of applying `body`, on the main actor, to each element.
  @inlinable
  public func mapValues<U: Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value.Element) throws -> U
  ) -> Promise<[U]> { mapValues(body) }

  /// Returns a promise for the elements of all the sequences that `body`, on the main actor,
  /// returns.
  @inlinable
  public func flatMapValues<U: Sequence & Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value.Element) throws -> U
  ) -> Promise<[U.Element]>
  where U.Element: Sendable { flatMapValues(body) }

  /// Returns a promise for the non-nil results of applying `body`, on the main actor, to each
  /// element.
  @inlinable
  public func compactMapValues<U: Sendable>(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value.Element) throws -> U?
  ) -> Promise<[U]> { compactMapValues(body) }

  /// Returns a promise for the elements that `body`, on the main actor, accepts.
  @inlinable
  public func filterValues(
    on executor: MainExecutor, _ body: @escaping @MainActor @Sendable (Value.Element) throws -> Bool
  ) -> Promise<[Value.Element]> { filterValues(body) }

  /// Calls `body` with each element on the main actor, and returns a promise for all the values, in
  /// order.
  @inlinable
  public func thenMap<U: Sendable>(
    on executor: MainExecutor,
    _ body: @escaping @MainActor @Sendable (Value.Element) throws -> Promise<U>
  ) -> Promise<[U]> { thenMap(body) }

  /// Calls `body` with each element on the main actor, and returns a promise for the elements of
  /// all the values.
  @inlinable
  public func thenFlatMap<U: Sequence & Sendable>(
    on executor: MainExecutor,
    _ body: @escaping @MainActor @Sendable (Value.Element) throws -> Promise<U>
  ) -> Promise<[U.Element]>
  where U.Element: Sendable { thenFlatMap(body) }

  /// Returns a promise for the first element that `predicate`, on the main actor, accepts.
  @inlinable
  public func firstValue(
    on executor: MainExecutor,
    where predicate: @escaping @MainActor @Sendable (Value.Element) throws -> Bool
  ) -> Promise<Value.Element> { firstValue(where: predicate) }

  /// Combines the elements with `body`, on the main actor, from left to right, and returns a promise
  /// for the result.
  @inlinable
  public func reduceValues<U: Sendable>(
    on executor: MainExecutor, _ initial: U,
    _ body: @escaping @MainActor @Sendable (U, Value.Element) throws -> U
  ) -> Promise<U> { reduceValues(initial, body) }
}
