import Synchronization

// A request to cancel starts at a promise and climbs to what feeds it, as far as nobody else
// consumes that. Where it stops, a rejection with `CancellationError` starts, and flows down like
// any other: every handler in between sees it, in the usual order.

extension Cell {
  /// Asks the producer of this promise to stop.
  @usableFromInline
  final func cancel() {
    let root = self.root
    guard !root.isSettledRoot else { return }
    Tracing.note(self, .cancellationRequested)
    let flags = root.input.load(ordering: .acquiring)
    if root === self, flags & Input.shared != 0, Input.consumers(flags) > 0 {
      // A promise that this one adopted is observed on its own account too: leave it alone.
      root.disown()
    } else {
      root.cancelInput()
    }
  }

  /// Takes back the interest of one consumer of this root.
  ///
  /// `viaLink` says that it came through a link, that is to a promise that this one has adopted.
  ///
  /// - Returns: Whether nobody is left, and the producer is to be asked to stop.
  private final func loseConsumer(viaLink: Bool) -> Bool {
    let word = input.wrappingSubtract(Input.consumer, ordering: .acquiringAndReleasing).newValue
    if Input.isDeserted(word) {
      // This promise itself waits for the one that it adopted, unless it was cancelled.
      return !viaLink || word & Input.disowned != 0
    }
    return false
  }

  /// Cancels this promise if it has lost its last consumer of its own, while the one that it adopted
  /// has some, who go on.
  ///
  /// To be asked when the consumer that was lost has turned away.
  private final func disownIfLeft(viaLink: Bool) {
    let word = input.load(ordering: .acquiring)
    guard !viaLink, word & (Input.shared | Input.kept | Input.disowned) == Input.shared else {
      return
    }
    if !hasOwnConsumer() { disown() }
  }

  /// Cancels this promise for those who hold it and for its own observers; those of the promise that
  /// it adopted go on, if there are any left.
  private final func disown() {
    var word = input.load(ordering: .acquiring)
    while true {
      // It waits for what it adopted, so this means that it settles: too late.
      if word & (Input.taken | Input.disowned) != 0 { return }
      let (done, now) = input.weakCompareExchange(
        expected: word, desired: word | Input.disowned, ordering: .acquiringAndReleasing)
      if done { break }
      word = now
    }
    // Nobody can have come and gone: a list that is not empty never gets empty before it settles.
    let observers = output.load(ordering: .acquiring)
    let hasNone = observers & ~Output.claimed == 0 || observers & Output.linked != 0
    if hasNone || Input.isDeserted(word) { cancelInput() } else { cancelOwnObservers() }
  }

  /// Takes back one consumer's interest; if it was the last one, the producer is asked to stop.
  final func withdrawConsumer(viaLink: Bool) {
    let cell = root
    if !cell.loseConsumer(viaLink: viaLink) {
      cell.disownIfLeft(viaLink: viaLink)
    } else if !cell.isSettledRoot {
      cell.cancelInput()
    }
  }

  /// Asks the producer to stop if nobody waits for this promise.
  final func cancelIfDeserted() {
    // A promise that another one has adopted is waited for by that one.
    guard root === self, !isSettledRoot else { return }
    let flags = input.load(ordering: .acquiring)
    // The count of a cell that nobody has observed is one, not nought.
    let isNew = output.load(ordering: .acquiring) == 0 && flags & Input.kept == 0
    if isNew || Input.isDeserted(flags) { cancelInput() }
  }

  /// Climbs from this cell, whose consumers do not want it any more, to the producer.
  final func cancelInput() {
    var cell = self
    while true {
      guard cell.pinUnlessTaken() else {
        // The handler runs: it looks at the mark when it has returned. Or the cell has settled.
        if cell.markCancelledWhileTaken() { return }
        // It has returned in between, and waits for what it returned: again, from there.
        continue
      }
      let old = cell.input.bitwiseOr(Input.cancelled, ordering: .acquiringAndReleasing).oldValue
      if old & Input.handler == 0 {
        // Somebody has won the right to settle it: as good as done, so the producer is not told.
        let outcome = cell.output.load(ordering: .acquiring) & (Output.claimed | Output.settled)
        if outcome != 0 {
          cell.unpin()
          return
        }
        let handlers = cell.slot
        if old & Input.cancelled == 0 { cell.slot = nil }
        cell.unpin()
        if old & Input.cancelled != 0 { return }
        if let handlers { unsafeDowncast(handlers, to: CancelHandlers.self).run() }
        cell.reject(Rejection.cancellation())
        return
      }
      guard let source = cell.slot.map({ unsafeDowncast($0, to: Cell.self) }) else {
        cell.unpin()
        // It was linked meanwhile, and the root waits in its place.
        let root = cell.root
        if root === cell { return }
        cell = root
        continue
      }
      // Linked to this cell, or to one that this cell is linked to itself.
      let isLinked = source.root === cell.root
      cell.unpin()
      if isLinked {
        cell = source
        continue
      }
      let handler = unsafeDowncast(cell, to: Handler.self)
      let parent = source.root
      if old & Input.shield != 0 || parent.isSettledRoot {
        if old & Input.cancelled == 0 || parent.isSettledRoot { handler.detach() }
        return
      }
      if old & Input.cancelled != 0 { return }
      let viaLink = old & Input.viaLink != 0
      guard parent.loseConsumer(viaLink: viaLink) else {
        handler.detach()
        parent.disownIfLeft(viaLink: viaLink)
        return
      }
      cell = parent
    }
  }

  /// Marks a cell whose slot is taken as cancelled; false, and no mark, if it is not taken any more.
  ///
  /// Where nobody has taken the slot, the mark belongs to whoever has pinned it.
  private final func markCancelledWhileTaken() -> Bool {
    var word = input.load(ordering: .acquiring)
    while word & Input.taken != 0 {
      let (done, now) = input.weakCompareExchange(
        expected: word, desired: word | Input.cancelled, ordering: .acquiringAndReleasing)
      if done { return true }
      word = now
    }
    return false
  }

  /// Cancels the observers that were attached to this very cell, and spares those that were
  /// attached to a promise it adopted.
  private final func cancelOwnObservers() {
    var own: [Handler] = []
    withObservers { handler in
      if !handler.has(Input.viaLink), !handler.has(Input.detached) { own.append(handler) }
      return true
    }
    for handler in own.reversed() { handler.withdraw() }
  }

  /// Whether anybody who was not attached through a link still waits for the result.
  private final func hasOwnConsumer() -> Bool {
    var found = false
    withObservers { handler in
      found = handler.isOwnConsumer
      return !found
    }
    return found
  }

  /// Shows `body` the observers, newest first, until it returns false.
  ///
  /// There are none while they are delivered.
  private final func withObservers(_ body: (Handler) -> Bool) {
    var backoff = Backoff()
    while true {
      // A write even where it changes nothing: who attaches after it finds `disowned`.
      let word = output.bitwiseOr(0, ordering: .acquiringAndReleasing).oldValue
      if word & (Output.settled | Output.linked) != 0 || word & ~Output.claimed == 0 { return }
      if let list = takeObservers() {
        var rest: HandlerList.Node? = HandlerList.Node.fromOpaque(list)
        while let node = rest, node._withUnsafeGuaranteedRef(body) {
          rest = node._withUnsafeGuaranteedRef { $0.next }
        }
        return putBack(HandlerList.Node.fromOpaque(list))
      }
      // Somebody clears the list out, or does the same as we.
      backoff.wait()
    }
  }
}

extension Handler {
  fileprivate final func has(_ flag: UInt64) -> Bool {
    input.load(ordering: .acquiring) & flag != 0
  }

  /// Whether this observer was not attached through a link, and waits for the result.
  fileprivate final var isOwnConsumer: Bool {
    if has(Input.viaLink) { return false }
    // A shield stays a consumer when it is cancelled.
    return has(Input.shield) || !(has(Input.cancelled) || has(Input.detached))
  }

  /// Runs this handler as if its source had been rejected with `CancellationError`, and leaves the
  /// source to its other consumers.
  ///
  /// Does nothing once the handler has started.
  final func detach() {
    while true {
      guard pinUnlessTaken() else { return }
      let source = slot
      if let source, unsafeDowncast(source, to: Cell.self).root === root {
        unpin()
        unsafeDowncast(source, to: Cell.self).cancelInput()
        return
      }
      slot = Cancellation.source
      input.bitwiseOr(Input.detached, ordering: .acquiringAndReleasing)
      unpin()
      deliver(self, rejected: true)
      if let source { unsafeDowncast(source, to: Cell.self).root.loseObserver() }
      return
    }
  }

  /// Detaches this handler at once, and only then withdraws its interest from the source.
  ///
  /// The handler finds `replacement`, a rejected cell, in place of its source.
  ///
  /// - Returns: Whether the handler had not started.
  @usableFromInline @discardableResult
  final func withdraw(finding replacement: Cell = Cancellation.source) -> Bool {
    guard pinUnlessTaken() else { return false }
    let source = slot.map { unsafeDowncast($0, to: Cell.self) }
    if let source, source.root === root {
      // It has run and adopted a promise meanwhile, so it stands in no list any more.
      unpin()
      source.cancelInput()
      return false
    }
    let isCancelled = replacement === Cancellation.source
    let old = input.bitwiseOr(
      isCancelled ? Input.cancelled | Input.detached : Input.detached,
      ordering: .acquiringAndReleasing
    ).oldValue
    guard let source, old & Input.detached == 0 else {
      unpin()
      return false
    }
    slot = replacement
    unpin()
    deliver(self, rejected: true)
    let parent = source.root
    if old & Input.cancelled == 0 { parent.withdrawConsumer(viaLink: old & Input.viaLink != 0) }
    parent.loseObserver()
    return true
  }
}

extension Cell {
  /// Accounts for an observer that has turned away from this root.
  fileprivate final func loseObserver() {
    if isSettledRoot {
      rejection?.markHandled()
    } else {
      noteDeadObserver()
    }
  }
}

/// What a cancelled handler finds in place of its source.
@usableFromInline
enum Cancellation {
  @usableFromInline static let source: Cell = Root<Never?>(rejection: Rejection.cancellation())
}

/// What a resolver wants to be called when its promise is cancelled.
///
/// `@unchecked Sendable`: guarded by the `pinned` flag of the cell in whose slot it lies, until
/// the canceller takes it out of there and has it alone.
final class CancelHandlers: @unchecked Sendable {
  private var handlers: [@Sendable () -> Void] = []

  func append(_ handler: @escaping @Sendable () -> Void) { handlers.append(handler) }

  func run() {
    for handler in handlers { handler() }
    handlers = []
  }
}

extension Cell {
  /// Has `handler` called if this promise is cancelled; called at once if it already was.
  @usableFromInline
  final func onCancel(_ handler: @escaping @Sendable () -> Void) {
    // A resolver's cell may be linked to another, but its own input side stays its own.
    guard pinUnlessTaken() else {
      if input.load(ordering: .acquiring) & Input.cancelled != 0 { handler() }
      return
    }
    if input.load(ordering: .acquiring) & Input.cancelled != 0 {
      unpin()
      handler()
      return
    }
    let handlers: CancelHandlers
    if let slot {
      handlers = unsafeDowncast(slot, to: CancelHandlers.self)
    } else {
      handlers = CancelHandlers()
      slot = handlers
    }
    handlers.append(handler)
    unpin()
  }

  /// Whether cancellation of this cell's promise was asked for.
  @usableFromInline
  final var isCancellationRequested: Bool {
    let root = self.root
    let mask = root === self ? Input.cancelled | Input.disowned : Input.cancelled
    return (root.input.load(ordering: .acquiring) | input.load(ordering: .acquiring)) & mask != 0
  }
}
