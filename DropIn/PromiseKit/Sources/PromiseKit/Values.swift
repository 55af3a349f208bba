import Dispatch

// The handler takes one hop for the whole sequence, and calls the closure for each element in
// order.

extension Thenable where T: Sequence {
  /// Returns a promise for the results of applying `transform` to each element.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func mapValues<U>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ transform: @escaping (T.Iterator.Element) throws -> U
  ) -> Promise<[U]> { map(on: on, flags: flags) { try $0.map(transform) } }

  /// Returns a promise for the elements of all the sequences that `transform` returns, in order.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func flatMapValues<U: Sequence>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ transform: @escaping (T.Iterator.Element) throws -> U
  ) -> Promise<[U.Iterator.Element]> { map(on: on, flags: flags) { try $0.flatMap(transform) } }

  /// Returns a promise for the non-nil results of applying `transform` to each element.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func compactMapValues<U>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ transform: @escaping (T.Iterator.Element) throws -> U?
  ) -> Promise<[U]> { map(on: on, flags: flags) { try $0.compactMap(transform) } }

  /// Calls `transform` for each element, and waits for all the thenables that it returns.
  @inlinable
  public func thenMap<U: Thenable>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ transform: @escaping (T.Iterator.Element) throws -> U
  ) -> Promise<[U.T]> { then(on: on, flags: flags) { when(fulfilled: try $0.map(transform)) } }

  /// Calls `transform` for each element, waits for all the thenables that it returns, and
  /// concatenates their sequences.
  @inlinable
  public func thenFlatMap<U: Thenable>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ transform: @escaping (T.Iterator.Element) throws -> U
  ) -> Promise<[U.T.Iterator.Element]> where U.T: Sequence {
    thenMap(on: on, flags: flags, transform).map(on: nil) { $0.flatMap { $0 } }
  }

  /// Returns a promise for the elements that `isIncluded` accepts.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func filterValues(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ isIncluded: @escaping (T.Iterator.Element) -> Bool
  ) -> Promise<[T.Iterator.Element]> { map(on: on, flags: flags) { $0.filter(isIncluded) } }
}

extension Thenable where T: Collection {
  /// A promise for the first element, rejected with ``PMKError/emptySequence`` if there is none.
  @inlinable
  public var firstValue: Promise<T.Iterator.Element> {
    map(on: nil) { values in
      guard let first = values.first else { throw PMKError.emptySequence }
      return first
    }
  }

  /// Returns a promise for the first element that `test` accepts.
  ///
  /// It is rejected with ``PMKError/emptySequence`` if there is none.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func firstValue(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    where test: @escaping (T.Iterator.Element) -> Bool
  ) -> Promise<T.Iterator.Element> {
    map(on: on, flags: flags) { values in
      guard let first = values.first(where: test) else { throw PMKError.emptySequence }
      return first
    }
  }

  /// A promise for the last element, rejected with ``PMKError/emptySequence`` if there is none.
  ///
  /// The collection must be bidirectional.
  @inlinable
  public var lastValue: Promise<T.Iterator.Element> {
    map(on: nil) { values in
      guard !values.isEmpty else { throw PMKError.emptySequence }
      return values[values.index(values.endIndex, offsetBy: -1)]
    }
  }
}

extension Thenable where T: Sequence, T.Iterator.Element: Comparable {
  /// Returns a promise for the elements in ascending order.
  @inlinable
  public func sortedValues(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil
  ) -> Promise<[T.Iterator.Element]> { map(on: on, flags: flags) { $0.sorted() } }
}
