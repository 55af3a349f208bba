import Synchronization

extension Promise {
  /// Returns a promise of all the values, in the order of `promises`.
  ///
  /// The first rejection rejects the result at once. The other promises go on; with
  /// `cancellingRest` those that have no other consumer are cancelled. No promises give an empty
  /// array at once. Cancelling the result withdraws from all promises.
  ///
  /// - Complexity: O(number of promises).
  @inlinable
  public static func all<T: Sendable>(
    _ promises: some Sequence<Promise<T>>, cancellingRest: Bool = false
  ) -> Promise<[T]> where Value == [T] {
    let inputs = Array(promises)
    if inputs.isEmpty { return .value([]) }
    let result = Root<[T]?>()
    let state = AllState<T>(result: result, count: inputs.count, cancelsRest: cancellingRest)
    for (index, input) in inputs.enumerated() {
      state.observe(input.cell, index: index)
    }
    state.endObserving()
    result.onCancel { state.finish(withdrawing: true) }
    return Promise<[T]>(cell: result)
  }

  /// Returns a promise of a tuple of all the values: any number of promises, of any types.
  ///
  /// The first rejection rejects the result at once. The other promises go on; with
  /// `cancellingRest` those that have no other consumer are cancelled. Cancelling the result
  /// withdraws from all promises.
  ///
  /// ```swift
  /// Promise.all(user(), settings(), news()).done { user, settings, news in … }
  /// ```
  @inlinable
  public static func all<each T: Sendable>(
    _ promises: repeat Promise<each T>, cancellingRest: Bool = false
  ) -> Promise<(repeat each T)> where Value == (repeat each T) {
    var voids: [Promise<Void>] = []
    repeat voids.append((each promises).asVoid())
    return Promise<[Void]>.all(voids, cancellingRest: cancellingRest).mapped(
      _HandlerTarget(immediate: ())
    ) { _ in
      // All are fulfilled, or we would not be here.
      (repeat (each promises).cell.root.value(as: (each T).self))
    }
  }

  /// Returns a promise of the outcomes of all promises, in their order.
  ///
  /// It waits for every one of them and fails only if it is cancelled.
  ///
  /// The errors count as handled. No promises give an empty array at once.
  @inlinable
  public static func allSettled<T: Sendable>(
    _ promises: some Sequence<Promise<T>>
  ) -> Promise where Value == [Result<T, any Error>] {
    .all(
      promises.map { promise in
        Promise<Result<T, any Error>>(
          cell: promise.cell.derive(
            Result<T, any Error>.self,
            wants: Cell.Input.wantsValue | Cell.Input.wantsRejection,
            target: _HandlerTarget(immediate: ()), body: nil
          ) { handler, source in
            handler.finish(source.handledResult() as Result<T, any Error>)
          })
      })
  }
}

/// The values that `all` has so far.
///
/// `@unchecked Sendable`: each slot of `values` is written once, by the one observer of its index,
/// and read by the thread that counts `remaining` down to nought, which orders the two.
@usableFromInline
final class AllState<T: Sendable>: Gathering, @unchecked Sendable {
  @usableFromInline let result: Cell
  @usableFromInline let values: UnsafeMutableBufferPointer<T?>
  @usableFromInline let remaining: Atomic<Int>
  /// Whether an input was abandoned, so that its value will never be there.
  @usableFromInline let isIncomplete = Atomic(false)
  @usableFromInline let cancelsRest: Bool

  @inlinable
  init(result: Cell, count: Int, cancelsRest: Bool) {
    self.result = result
    self.cancelsRest = cancelsRest
    remaining = Atomic(count)
    values = .allocate(capacity: count)
    values.initialize(repeating: nil)
    super.init(result: result, count: count)
  }

  deinit {
    values.deinitialize()
    values.deallocate()
  }

  @inlinable
  func observe(_ cell: Cell, index: Int) {
    let observer = InputObserver(self, index: index, source: cell) { observer, source in
      let observer = unsafeDowncast(observer, to: InputObserver<AllState<T>>.self)
      observer.state.receive(source, index: observer.index)
    }
    observe(cell, with: observer)
  }

  @inlinable
  func receive(_ source: Cell, index: Int) {
    if let rejection = source.rejection {
      // First the rest: who sees the error may rely on their being let go of.
      if finish(withdrawing: cancelsRest) {
        result.reject(rejection)
      } else {
        rejection.markHandled()
      }
      return
    }
    values[index] = source.value(as: T.self)
    guard remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    if isIncomplete.load(ordering: .relaxed) {
      result.abandon()
    } else {
      // Each was written by its observer.
      result.fulfill(values.map { $0.unsafelyUnwrapped })
    }
    finishAfterAll()
  }

  override func loseInput() -> Cell? {
    isIncomplete.store(true, ordering: .relaxed)
    guard remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return nil }
    finishAfterAll()
    return result
  }
}
