import Dispatch

// The operators on sequences for guarantees; their results can't fail.

extension Guarantee where T: Sequence {
  /// Returns a guarantee for the results of applying `transform` to each element.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func mapValues<U>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ transform: @escaping (T.Iterator.Element) -> U
  ) -> Guarantee<[U]> { map(on: on, flags: flags) { $0.map(transform) } }

  /// Returns a guarantee for the elements of all the sequences that `transform` returns, in order.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func flatMapValues<U: Sequence>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ transform: @escaping (T.Iterator.Element) -> U
  ) -> Guarantee<[U.Iterator.Element]> { map(on: on, flags: flags) { $0.flatMap(transform) } }

  /// Returns a guarantee for the non-nil results of applying `transform` to each element.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func compactMapValues<U>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ transform: @escaping (T.Iterator.Element) -> U?
  ) -> Guarantee<[U]> { map(on: on, flags: flags) { $0.compactMap(transform) } }

  /// Calls `transform` for each element, and waits for all the guarantees that it returns.
  @inlinable
  public func thenMap<U>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ transform: @escaping (T.Iterator.Element) -> Guarantee<U>
  ) -> Guarantee<[U]> { then(on: on, flags: flags) { when(guarantees: $0.map(transform)) } }

  /// Calls `transform` for each element, waits for all the thenables that it returns, and
  /// concatenates their sequences.
  ///
  /// If one of them is rejected, the program stops.
  @inlinable
  public func thenFlatMap<U: Thenable>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ transform: @escaping (T.Iterator.Element) -> U
  ) -> Guarantee<[U.T.Iterator.Element]> where U.T: Sequence {
    then(on: on, flags: flags) { values in
      when(fulfilled: values.map(transform)).recover(on: nil) { error -> Guarantee<[U.T]> in
        fatalError(String(describing: error))
      }
    }.map(on: nil) { $0.flatMap { $0 } }
  }

  /// Returns a guarantee for the elements that `isIncluded` accepts.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func filterValues(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ isIncluded: @escaping (T.Iterator.Element) -> Bool
  ) -> Guarantee<[T.Iterator.Element]> { map(on: on, flags: flags) { $0.filter(isIncluded) } }

  /// Returns a guarantee for the elements, sorted by `areInIncreasingOrder`.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func sortedValues(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ areInIncreasingOrder: @escaping (T.Iterator.Element, T.Iterator.Element) -> Bool
  ) -> Guarantee<[T.Iterator.Element]> {
    map(on: on, flags: flags) { $0.sorted(by: areInIncreasingOrder) }
  }
}

extension Guarantee where T: Sequence, T.Iterator.Element: Comparable {
  /// Returns a guarantee for the elements in ascending order.
  @inlinable
  public func sortedValues(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil
  ) -> Guarantee<[T.Iterator.Element]> { map(on: on, flags: flags) { $0.sorted() } }
}
