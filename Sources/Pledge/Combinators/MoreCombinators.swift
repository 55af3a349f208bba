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
    .all(repeat (each promises).settled())
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

  /// Returns a promise for a tuple of all the values: any number of thenables, such as promises and
  /// guarantees, of any types.
  ///
  /// Otherwise, this is the same as for promises.
  ///
  /// ```swift
  /// Promise.all(fetchUser(id: 7), Guarantee.after(.seconds(1))).done { user, _ in show(user) }
  /// ```
  @_disfavoredOverload
  public static func all<each T: Thenable>(
    _ thenables: repeat each T, cancellingRest: Bool = false
  ) -> Promise<(repeat (each T).Value)> where Value == (repeat (each T).Value) {
    .all(repeat (each thenables).source, cancellingRest: cancellingRest)
  }

  /// Returns a promise for all the values of thenables of one type, such as guarantees, in order.
  ///
  /// Otherwise, this is the same as for promises.
  @_disfavoredOverload
  public static func all<T: Thenable>(
    _ thenables: some Sequence<T>, cancellingRest: Bool = false
  ) -> Promise where Value == [T.Value] {
    .all(thenables.map(\.source), cancellingRest: cancellingRest)
  }

  /// Returns a promise for the result of the first of `thenables` to settle.
  ///
  /// Otherwise, this is the same as for promises.
  @_disfavoredOverload
  public static func race<T: Thenable>(
    _ thenables: some Sequence<T>, cancellingLosers: Bool = true
  ) -> Promise where T.Value == Value {
    .race(thenables.map(\.source), cancellingLosers: cancellingLosers)
  }

  /// Returns a promise for the first value of `thenables`; errors are ignored unless all fail.
  ///
  /// Otherwise, this is the same as for promises.
  @_disfavoredOverload
  public static func any<T: Thenable>(
    _ thenables: some Sequence<T>, cancellingLosers: Bool = true
  ) -> Promise where T.Value == Value {
    .any(thenables.map(\.source), cancellingLosers: cancellingLosers)
  }

  /// Starts all asynchronous `operations` concurrently and returns a promise for the result of the
  /// first to finish.
  ///
  /// The other operations are cancelled. Otherwise, this is the same as for promises.
  ///
  /// **Execution.** Each operation runs in its own task. Unlike other closures, it doesn't inherit an
  /// isolation: for the main actor, write `{ @MainActor in … }`.
  @_disfavoredOverload
  public static func race(_ operations: (@Sendable () async throws -> Value)...) -> Promise {
    .race(operations.map { operation in Promise { try await operation() } })
  }

  /// Starts all asynchronous `operations` concurrently and returns a promise for the value of the
  /// first to succeed.
  ///
  /// The other operations are cancelled. Otherwise, this is the same as for promises.
  ///
  /// **Execution.** Each operation runs in its own task. Unlike other closures, it doesn't inherit an
  /// isolation: for the main actor, write `{ @MainActor in … }`.
  @_disfavoredOverload
  public static func any(_ operations: (@Sendable () async throws -> Value)...) -> Promise {
    .any(operations.map { operation in Promise { try await operation() } })
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

  /// Returns a guarantee for a tuple of all the values: any number of guarantees, of any types.
  public static func all<each T: Sendable>(
    _ guarantees: repeat Guarantee<each T>
  ) -> Guarantee<(repeat each T)> where Value == (repeat each T) {
    let all: Promise<(repeat each T)> = .all(repeat (each guarantees).base)
    return Guarantee(cell: all.cell)
  }

  /// Returns a guarantee for the value of the first of the guarantees to be fulfilled.
  ///
  /// The others are cancelled if they have no other consumer, unless `cancellingLosers` is false. A
  /// guarantee that is broken loses; the result is broken only if all are.
  public static func race(
    _ first: Guarantee, _ others: Guarantee..., cancellingLosers: Bool = true
  ) -> Guarantee {
    race([first] + others, cancellingLosers: cancellingLosers)
  }

  /// Returns a guarantee for the value of the first of `guarantees` to be fulfilled.
  ///
  /// The others are cancelled if they have no other consumer, unless `cancellingLosers` is false. A
  /// guarantee that is broken loses; the result is broken only if all are. If `guarantees` is
  /// empty, the result stays pending.
  public static func race(
    _ guarantees: some Sequence<Guarantee>, cancellingLosers: Bool = true
  ) -> Guarantee {
    let all = Array(guarantees)
    if all.isEmpty { return .never }
    let winner = Promise.any(all.map(\.base), cancellingLosers: cancellingLosers)
      .recovered(
        .inPlace { error in
          // All are broken, so the result is broken with the error of one of them.
          guard let errors = (error as? AggregateError)?.errors else { throw error }
          throw errors.first { !($0 is CancellationError) } ?? CancellationError()
        })
    return Guarantee(cell: winner.cell)
  }

  /// Returns a guarantee for a dictionary of all the values, under the keys of their guarantees.
  public static func all<Key: Hashable & Sendable, T: Sendable>(
    _ guarantees: [Key: Guarantee<T>]
  ) -> Guarantee where Value == [Key: T] {
    Guarantee(cell: Promise<[Key: T]>.all(guarantees.mapValues(\.base)).cell)
  }
}
