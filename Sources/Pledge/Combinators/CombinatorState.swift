extension Handler {
  /// The source for which this handler waits, if it hasn't settled.
  final var pendingSource: Cell? {
    guard case .source(let source, _)? = producer, !source.isSettled else { return nil }
    return source
  }
}

/// The observers that a combinator has on its inputs, so that all can be removed.
///
/// One thread creates the state, observes all inputs, and then calls `endObserving()`.
///
/// `@unchecked Sendable`: only that thread accesses `attached`; the rest is atomic, guarded by a
/// lock, or immutable.
@usableFromInline
class CombinatorState: @unchecked Sendable {
  private enum Phase {
    static let open = 0
    static let keeping = 1
    static let cancelling = 2
  }

  private let phase = AtomicCounter(Phase.open)
  /// The observers, after all inputs are observed.
  private let observers = Mutex<[Handler]>([])
  /// The observers, until then.
  @exclusivity(unchecked) private final var attached: [Handler] = []
  /// The promise that the combinator settles, for a tracer.
  private weak var tracedResult: Cell?

  @usableFromInline
  init(result: Cell? = nil, count: Int) {
    attached.reserveCapacity(count)
    if Instrumentation.isTracing { tracedResult = result }
    result?.noteCreation(nil)
  }

  /// Whether the result waits for all inputs, and not just for one of them.
  var waitsForAll: Bool { false }

  /// Finishes the combinator when `result`, which it settles, is cancelled.
  final func cancel(with result: Cell) {
    result.onCancel(producer: waitsForAll ? .inputs { self.pendingInputs } : nil) {
      self.finish(.cancelled)
    }
  }

  final var pendingInputs: [Cell] {
    observers.withLock { $0 }.compactMap(\.pendingSource)
  }

  /// Observes `cell`; tracers see the observer if it contributes to a promise.
  @usableFromInline
  final func observe(_ cell: Cell, with observer: Handler) {
    // Attached first, because an observer can be removed only after it is attached.
    if let tracedResult {
      observer.noteObserving(for: tracedResult)
      cell.attach(observer)
    } else {
      cell.attachUntraced(observer)
    }
    attached.append(observer)
  }

  /// Passes the observers to the thread that will finish the combinator, or removes them if it has
  /// already finished.
  @usableFromInline
  final func endObserving() {
    let all = exchange(&attached, with: [])
    observers.withLock { $0 = all }
    switch phase.load(ordering: .acquiring) {
    case Phase.keeping: removeAll(.keeping)
    case Phase.cancelling: removeAll(.cancelled)
    default: break
    }
  }

  /// Finishes the combinator and removes all observers that haven't been called; before
  /// `endObserving()`, leaves the removal to that method.
  ///
  /// Therefore, the thread that creates the state must not expose the result before
  /// `endObserving()`. An observer that is removed with `.cancelled` is called, and finds the
  /// combinator finished.
  ///
  /// - Returns: Whether this call finished the combinator, and can therefore settle the result.
  @usableFromInline @discardableResult
  final func finish(_ departure: Departure) -> Bool {
    let last = if case .keeping = departure { Phase.keeping } else { Phase.cancelling }
    guard end(as: last) else { return false }
    removeAll(departure)
    return true
  }

  /// Finishes the combinator after all observers have been called.
  @usableFromInline @discardableResult
  final func finishAfterAll() -> Bool {
    guard end(as: Phase.keeping) else { return false }
    withExtendedLifetime(takeObservers()) {}
    return true
  }

  private final func end(as last: Int) -> Bool {
    phase.compareExchange(
      expected: Phase.open, desired: last, ordering: .acquiringAndReleasing
    ).exchanged
  }

  /// Removes the observers, newest first: a limiter starts a waiting operation when a running one is
  /// cancelled, and the last ones are those that wait.
  private final func removeAll(_ departure: Departure) {
    for observer in takeObservers().reversed() { observer.leave(departure) }
  }

  private final func takeObservers() -> [Handler] {
    observers.withLock { exchange(&$0, with: []) }
  }
}

/// The observer that a combinator attaches to its input at `index`.
///
/// `@unchecked Sendable`: for the same reasons as `Handler`.
@_fixed_layout @usableFromInline
final class InputObserver<State: CombinatorState>: Handler, @unchecked Sendable {
  @usableFromInline let state: State
  @usableFromInline let index: Int

  @inlinable
  init(
    _ state: State, index: Int, source: Cell, run: @escaping @Sendable (Handler, Cell) -> Void
  ) {
    self.state = state
    self.index = index
    super.init(.observer, of: source, on: .inPlace, body: nil, run: run)
  }
}
