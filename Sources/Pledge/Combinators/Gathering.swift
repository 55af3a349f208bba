import Synchronization

/// The observers that a combinator has on its inputs, so that they can all be taken back.
///
/// One thread makes the gathering and observes all inputs, then says `endObserving()`.
///
/// `@unchecked Sendable`: `attached` is touched by that one thread alone; the rest is atomic, behind a
/// lock or immutable.
@usableFromInline
class Gathering: @unchecked Sendable {
  private enum Phase: UInt8, AtomicRepresentable {
    case open
    case finished
    case finishedWithdrawing
  }

  private let phase = Atomic(Phase.open)
  /// The observers, once all inputs are observed.
  private let observers = Mutex<[Handler]>([])
  /// The observers, up to then.
  @exclusivity(unchecked) private final var attached: [Handler] = []
  /// The promise that comes of it, if one does.
  private let resultID: Diagnostics.PromiseID?

  @usableFromInline
  init(result: Cell? = nil, count: Int) {
    resultID = result.map { Diagnostics.PromiseID($0) }
    attached.reserveCapacity(count)
    result?.noteCreation(nil)
  }

  /// Observes `cell`; if the gathering is finished already, lets go of it at once.
  @usableFromInline
  final func observe(_ cell: Cell, with observer: Handler) {
    let phase = phase.load(ordering: .acquiring)
    if phase != .open {
      // First those before it: inputs are let go of in their order.
      endObserving()
      if phase == .finished { cell.root.keep() } else { cell.cancelIfDeserted() }
      return
    }
    if let resultID { Tracing.note(observer, .observes(for: resultID)) }
    // Attached first: an observer can be taken back only once it is in its place.
    cell.attach(observer)
    attached.append(observer)
  }

  /// Leaves the observers to whoever finishes the gathering, or takes them back if that was done
  /// meanwhile.
  @usableFromInline
  final func endObserving() {
    let all = exchange(&attached, with: [])
    observers.withLock { $0 = all }
    switch phase.load(ordering: .acquiring) {
    case .open: break
    case .finished: takeBackAll(withdrawing: false)
    case .finishedWithdrawing: takeBackAll(withdrawing: true)
    }
  }

  /// Takes back all observers that have not been called; before `endObserving()` that is left to it.
  ///
  /// So who makes the gathering hands out nothing before `endObserving()`.
  ///
  /// With `withdrawing`, an input that has no other consumer is cancelled. An observer that is
  /// withdrawn is told so, and finds the gathering finished.
  ///
  /// - Returns: Whether this call finished it, and thus may settle the result.
  @usableFromInline @discardableResult
  final func finish(withdrawing: Bool) -> Bool {
    guard end(as: withdrawing ? .finishedWithdrawing : .finished) else { return false }
    takeBackAll(withdrawing: withdrawing)
    return true
  }

  /// As `finish`, when all observers have been called.
  @usableFromInline @discardableResult
  final func finishAfterAll() -> Bool {
    guard end(as: .finished) else { return false }
    withExtendedLifetime(takeObservers()) {}
    return true
  }

  /// Notes that an observer was dropped, as nobody will ever settle its input.
  ///
  /// - Returns: What comes of the gathering, if nobody will ever settle that either.
  func loseInput() -> Cell? { nil }

  private final func end(as last: Phase) -> Bool {
    phase.compareExchange(expected: .open, desired: last, ordering: .acquiringAndReleasing)
      .exchanged
  }

  private final func takeBackAll(withdrawing: Bool) {
    for observer in takeObservers() { observer.takeBack(withdrawing: withdrawing) }
  }

  private final func takeObservers() -> [Handler] {
    observers.withLock { exchange(&$0, with: []) }
  }
}

/// What a combinator attaches to its input number `index`.
@usableFromInline
final class InputObserver<State: Gathering>: Handler, @unchecked Sendable {
  @usableFromInline let state: State
  @usableFromInline let index: Int

  @inlinable
  init(
    _ state: State, index: Int, source: Cell, run: @escaping @Sendable (Handler, Cell) -> Void
  ) {
    self.state = state
    self.index = index
    super.init(input: 0, source: source, target: nil, body: nil, run: run)
  }

  override func abandonedResult() -> Cell? { state.loseInput() }
}

extension Handler {
  fileprivate final func takeBack(withdrawing: Bool) {
    if withdrawing { withdraw() } else { leave() }
  }

  /// Stops observing; the source is kept, so it is not cancelled on our account.
  final func leave() {
    guard pinUnlessTaken() else { return }
    let source = slot.map { unsafeDowncast($0, to: Cell.self) }
    let old = input.bitwiseOr(Input.detached, ordering: .acquiringAndReleasing).oldValue
    slot = nil
    unpin()
    guard let source, old & Input.detached == 0 else { return }
    Tracing.note(self, .withdrawn)
    let cell = source.root
    cell.keep()
    cell.input.wrappingSubtract(Input.consumer, ordering: .acquiringAndReleasing)
    cell.noteDeadObserver()
  }
}

extension Cell {
  /// Notes that somebody who has let go of this cell wants it to go on and handles its rejection.
  final func keep() {
    input.bitwiseOr(Input.kept, ordering: .acquiringAndReleasing)
    if isSettledRoot { rejection?.markHandled() }
  }
}
