extension Promise {
  /// Returns a promise for a tuple of the results of all promises, of any number and types.
  ///
  /// The result waits for every promise and is rejected only if it is cancelled. The errors count
  /// as handled.
  ///
  /// ```swift
  /// Promise.allSettled(user(), settings()).done { user, settings in … }
  /// ```
  public static func allSettled<each T: Sendable>(
    _ promises: repeat Promise<each T>
  ) -> Promise<(repeat Result<each T, any Error>)>
  where Value == (repeat Result<each T, any Error>) {
    tuple(repeat (each promises).settled(), cancellingRest: false)
  }

  /// Returns a promise for a dictionary of all the values, under the keys of their promises.
  ///
  /// The first rejection rejects the result immediately. The other promises continue; with
  /// `cancellingRest`, those that have no other consumer are cancelled.
  ///
  /// **Execution.** The keys are hashed and compared in place, as in a handler on `.immediate`.
  ///
  /// - Complexity: O(number of promises).
  public static func all<Key: Hashable & Sendable, T: Sendable>(
    _ promises: [Key: Promise<T>], cancellingRest: Bool = false
  ) -> Promise where Value == [Key: T] {
    let keys = Array(promises.keys)
    return Promise<[T]>.all(promises.values, cancellingRest: cancellingRest)
      .mapped(.inPlace { values in Dictionary(uniqueKeysWithValues: zip(keys, values)) })
  }

  /// The same as for promises, for thenables of one type, such as guarantees.
  @_disfavoredOverload
  public static func all<T: Thenable>(
    _ thenables: some Sequence<T>, cancellingRest: Bool = false
  ) -> Promise where Value == [T.Value] {
    .all(thenables.map(\.source), cancellingRest: cancellingRest)
  }
}

extension Guarantee {
  /// Returns a guarantee for all the values, in the order of `guarantees`.
  ///
  /// If `guarantees` is empty, the result is immediately fulfilled with an empty array.
  public static func all<T: Sendable>(
    _ guarantees: some Sequence<Guarantee<T>>
  ) -> Guarantee where Value == [T] {
    Guarantee(cell: Promise<[T]>.all(guarantees.map(\.base)).cell)
  }
}
