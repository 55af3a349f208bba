extension Promise {
  /// Returns a promise for all the values, in the order of `promises`.
  ///
  /// The first rejection rejects the result immediately. The other promises continue; with
  /// `cancellingRest`, those that have no other consumer are cancelled. If `promises` is empty, the
  /// result is immediately fulfilled with an empty array. Cancelling the result cancels every
  /// promise that has no other consumer.
  ///
  /// - Complexity: O(number of promises).
  @inlinable
  public static func all<T: Sendable>(
    _ promises: some Sequence<Promise<T>>, cancellingRest: Bool = false
  ) -> Promise<[T]> where Value == [T] {
    let inputs = Array(promises)
    if inputs.isEmpty { return .value([]) }
    let result = Root<[T]>()
    let state = AllState<T>(
      result: result, count: inputs.count, cancelsRest: cancellingRest
    ) { values in
      // Each value was written by its observer.
      result.fulfill(values.map { $0.unsafelyUnwrapped })
    }
    for (index, input) in inputs.enumerated() {
      state.observe(input.cell, index: index)
    }
    state.start()
    return Promise<[T]>(cell: result)
  }

  /// Returns a promise for a tuple of all the values: any number of promises, guarantees, and other
  /// thenables, of any types.
  ///
  /// The first rejection rejects the result immediately. The other promises continue; with
  /// `cancellingRest`, those that have no other consumer are cancelled. Cancelling the result
  /// cancels every promise that has no other consumer.
  ///
  /// ```swift
  /// Promise.all(user(), settings(), news()).done { user, settings, news in … }
  /// ```
  @inlinable @_disfavoredOverload
  public static func all<each T: Thenable>(
    _ thenables: repeat each T, cancellingRest: Bool = false
  ) -> Promise<(repeat (each T).Value)> where Value == (repeat (each T).Value) {
    tuple(repeat (each thenables).source, cancellingRest: cancellingRest)
  }

  // This has a separate name so that the overloads for few promises can call it.
  @inlinable
  static func tuple<each T: Sendable>(
    _ promises: repeat Promise<each T>, cancellingRest: Bool
  ) -> Promise<(repeat each T)> where Value == (repeat each T) {
    var inputs: [Cell] = []
    repeat inputs.append((each promises).cell)
    let result = Root<(repeat each T)>()
    let state = AllState<Never>(
      result: result, count: inputs.count, cancelsRest: cancellingRest
    ) { _ in
      // All are fulfilled, so the values can be read from their promises.
      result.fulfill((repeat (each promises).cell.value(as: (each T).self)))
    }
    state.observeAll(inputs)
    return Promise(cell: result)
  }

  /// Returns a promise for the results of all promises, in order.
  ///
  /// The result waits for every promise and is rejected only if it is cancelled. The errors count
  /// as handled. If `promises` is empty, the result is immediately fulfilled with an empty array.
  @inlinable
  public static func allSettled<T: Sendable>(
    _ promises: some Sequence<Promise<T>>
  ) -> Promise where Value == [Result<T, any Error>] {
    .all(promises.map { $0.settled() })
  }
}

/// The state of `all`, with the values so far.
///
/// `@unchecked Sendable`: each element of `values` is written once, by the observer with its index,
/// and read by the thread that decrements `remaining` to zero, which orders the write before the
/// read.
@usableFromInline
final class AllState<T: Sendable>: CombinatorState, @unchecked Sendable {
  @usableFromInline let result: Cell
  @usableFromInline let values: UnsafeMutableBufferPointer<T?>
  private let remaining: AtomicCounter
  /// Whether an input was abandoned, so that its value will never arrive.
  private let isIncomplete = AtomicFlag(false)
  @usableFromInline let cancelsRest: Bool
  private let fulfill: @Sendable (UnsafeMutableBufferPointer<T?>) -> Void

  /// Creates the state; `fulfill` fulfills the result with the values.
  @usableFromInline
  init(
    result: Cell, count: Int, cancelsRest: Bool,
    fulfill: @escaping @Sendable (UnsafeMutableBufferPointer<T?>) -> Void
  ) {
    self.result = result
    self.cancelsRest = cancelsRest
    self.fulfill = fulfill
    remaining = AtomicCounter(count)
    values = .allocate(capacity: T.self == Never.self ? 0 : count)
    values.initialize(repeating: nil)
    super.init(result: result, count: count)
  }

  override var waitsForAll: Bool { true }

  deinit {
    values.deinitialize()
    values.deallocate()
  }

  /// Starts waiting, after all inputs are observed.
  @usableFromInline
  func start() {
    endObserving()
    cancel(with: result)
  }

  @inlinable
  func observe(_ cell: Cell, index: Int) {
    let observer = InputObserver(self, index: index, source: cell) { observer, source in
      let observer = unsafeDowncast(observer, to: InputObserver<AllState<T>>.self)
      if let rejection = source.rejection {
        observer.state.fail(rejection)
      } else {
        observer.state.values[observer.index] = source.value(as: T.self)
        observer.state.countDown()
      }
    }
    observe(cell, with: observer)
  }

  @usableFromInline
  func countDown() {
    guard remaining.wrappingSubtract(1, ordering: .acquiringAndReleasing) == 1 else { return }
    if isIncomplete.load(ordering: .relaxed) {
      result.abandon()
    } else {
      fulfill(values)
    }
    finishAfterAll()
  }

  @usableFromInline
  func fail(_ rejection: Rejection) {
    if rejection.isAbandonment {
      isIncomplete.store(true, ordering: .relaxed)
      return countDown()
    }
    rejection.markHandled()
    // First the rest, because code that receives the error can rely on their cancellation.
    if finish(cancelsRest ? .cancelled : .keeping) { result.reject(rejection.passedOn()) }
  }
}

extension AllState<Never> {
  /// Observes all of `cells`, whose values are read from the cells later.
  @usableFromInline
  func observeAll(_ cells: [Cell]) {
    for (index, cell) in cells.enumerated() {
      let observer = InputObserver(self, index: index, source: cell) { observer, source in
        let state = unsafeDowncast(observer, to: InputObserver<AllState<Never>>.self).state
        if let rejection = source.rejection {
          state.fail(rejection)
        } else {
          state.countDown()
        }
      }
      observe(cell, with: observer)
    }
    if cells.isEmpty { fulfill(values) }
    start()
  }
}
