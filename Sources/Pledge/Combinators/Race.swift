extension Promise {
  /// Returns a promise for the result of the first of `promises` to settle, fulfilled or rejected.
  ///
  /// If several promises have already settled, the first one in order wins. The errors of the
  /// losers count as handled. Losers that have no other consumer are cancelled immediately, unless
  /// `cancellingLosers` is false. If `promises` is empty, the result is rejected with
  /// ``PromiseError/emptyInput``. Cancelling the result cancels every promise that has no other
  /// consumer.
  @inlinable
  public static func race(
    _ promises: some Sequence<Promise<Value>>, cancellingLosers: Bool = true
  ) -> Promise {
    RaceState.start(Array(promises), cancelsLosers: cancellingLosers) { observer, source in
      let observer = unsafeDowncast(observer, to: InputObserver<RaceState<Value>>.self)
      observer.state.settle(as: source)
    }
  }

  /// The same as the form that takes a sequence.
  @inlinable
  public static func race(_ promises: Promise..., cancellingLosers: Bool = true) -> Promise {
    race(promises, cancellingLosers: cancellingLosers)
  }

  /// Returns a promise for the first value; rejections are ignored unless every promise is
  /// rejected.
  ///
  /// If all promises are rejected, the result is rejected with an ``AggregateError`` that contains
  /// their errors in order; if all are cancelled, with `CancellationError`. Losers that have no
  /// other consumer are cancelled immediately, unless `cancellingLosers` is false. If `promises` is
  /// empty, the result is rejected with ``PromiseError/emptyInput``. Cancelling the result cancels
  /// every promise that has no other consumer.
  @inlinable
  public static func any(
    _ promises: some Sequence<Promise<Value>>, cancellingLosers: Bool = true
  ) -> Promise {
    RaceState.start(Array(promises), cancelsLosers: cancellingLosers) { observer, source in
      let observer = unsafeDowncast(observer, to: InputObserver<RaceState<Value>>.self)
      if let rejection = source.rejection {
        observer.state.lose(rejection, index: observer.index)
      } else {
        observer.state.settle(as: source)
      }
    }
  }

  /// The same as the form that takes a sequence.
  @inlinable
  public static func any(_ promises: Promise..., cancellingLosers: Bool = true) -> Promise {
    any(promises, cancellingLosers: cancellingLosers)
  }
}

/// The state of a race.
///
/// `@unchecked Sendable`: for the same reasons as `CombinatorState`.
@usableFromInline
final class RaceState<Value: Sendable>: CombinatorState, @unchecked Sendable {
  @usableFromInline let result: Cell
  @usableFromInline let cancelsLosers: Bool
  private let losers: Mutex<Losers>

  private struct Losers {
    var errors: [Int: any Error] = [:]
    /// The number of inputs that will never settle.
    var abandonedCount = 0
    /// The number of inputs.
    let count: Int

    var areAll: Bool { errors.count + abandonedCount == count }
  }

  private init(count: Int, cancelsLosers: Bool) {
    result = Root<Value>()
    self.cancelsLosers = cancelsLosers
    losers = Mutex(Losers(count: count))
    super.init(result: result, count: count)
  }

  /// Starts a race of `inputs`, each of which `run` observes, and returns its result.
  @usableFromInline
  static func start(
    _ inputs: [Promise<Value>], cancelsLosers: Bool,
    run: @escaping @Sendable (Handler, Cell) -> Void
  ) -> Promise<Value> {
    guard !inputs.isEmpty else { return .rejected(PromiseError.emptyInput) }
    let state = RaceState(count: inputs.count, cancelsLosers: cancelsLosers)
    for (index, input) in inputs.enumerated() {
      let observer = InputObserver(state, index: index, source: input.cell, run: run)
      state.observe(input.cell, with: observer)
    }
    state.endObserving()
    state.cancel(with: state.result)
    return Promise(cell: state.result)
  }

  @inlinable
  func settle(as source: Cell) {
    if source.rejection?.isAbandonment == true { return lose(nil, index: 0) }
    source.rejection?.markHandled()
    // First the losers, because code that receives the winner can rely on their cancellation.
    guard finish(cancelsLosers ? .cancelled : .keeping) else { return }
    if let rejection = source.rejection {
      result.reject(rejection.passedOn())
    } else {
      result.copy(from: source, as: Value.self)
    }
  }

  /// Records that an input has lost: it was rejected with `rejection`, or abandoned if that is nil.
  @usableFromInline
  func lose(_ rejection: Rejection?, index: Int) {
    rejection?.markHandled()
    let losers: Losers? = losers.withLock { losers in
      if let rejection, !rejection.isAbandonment {
        losers.errors[index] = rejection.error
      } else {
        losers.abandonedCount += 1
      }
      return losers.areAll ? losers : nil
    }
    // If the result was cancelled, the race is already finished, and the cancellation is its error.
    guard let losers, finishAfterAll() else { return }
    if losers.abandonedCount > 0 { return result.abandon() }
    let errors = (0..<losers.count).compactMap { losers.errors[$0] }
    let areCancelled = errors.allSatisfy { $0 is CancellationError }
    result.reject(
      areCancelled ? .cancellation : Rejection(AggregateError(errors: errors), origin: nil))
  }
}
