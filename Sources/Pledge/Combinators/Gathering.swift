import Synchronization

/// The observers that a combinator has on its inputs, so that they can all be taken back.
@usableFromInline
class Gathering: @unchecked Sendable {
  private enum State {
    case open([Handler])
    case finished(withdrawing: Bool)
  }

  private let state = Mutex(State.open([]))
  /// The promise that comes of it, if one does.
  private let resultID: Diagnostics.PromiseID?

  @usableFromInline
  init(result: Cell? = nil) {
    resultID = result.map { Diagnostics.PromiseID($0) }
    result?.noteCreation(nil)
  }

  /// Observes `cell`; if the gathering is finished already, lets go of it at once.
  @usableFromInline
  final func observe(_ cell: Cell, with observer: Handler) {
    if let withdrawing = finishedWithdrawing {
      if withdrawing { cell.cancelIfDeserted() } else { cell.root.keep() }
      return
    }
    if let resultID { Tracing.note(observer, .observes(for: resultID)) }
    // Attached first: an observer can be taken back only once it is in its place.
    cell.attach(observer)
    let withdrawing: Bool? = state.withLock { state in
      switch state {
      case .open(var observers):
        state = .open([])
        observers.append(observer)
        state = .open(observers)
        return nil
      case .finished(let withdrawing):
        return withdrawing
      }
    }
    if let withdrawing { observer.takeBack(withdrawing: withdrawing) }
  }

  /// Takes back all observers that have not been called.
  ///
  /// With `withdrawing`, an input that has no other consumer is cancelled. An observer that is
  /// withdrawn is told so, and finds the gathering finished.
  ///
  /// - Returns: Whether this call finished it, and thus may settle the result.
  @usableFromInline @discardableResult
  final func finish(withdrawing: Bool) -> Bool {
    let observers: [Handler]? = state.withLock { state in
      guard case .open(let observers) = state else { return nil }
      state = .finished(withdrawing: withdrawing)
      return observers
    }
    guard let observers else { return false }
    for observer in observers { observer.takeBack(withdrawing: withdrawing) }
    return true
  }

  /// How the inputs were let go of, once they need not be observed any more.
  private final var finishedWithdrawing: Bool? {
    state.withLock { state in
      if case .finished(let withdrawing) = state { withdrawing } else { nil }
    }
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
