import Synchronization

// The list of observers: attaching, delivering in order, and clearing out the dead.

extension Cell {
  /// Adds `handler` to the observers of this cell's root, or hands it to its executor at once if
  /// that is settled.
  ///
  /// `isPinned` says that others know the handler already, and that the caller keeps them from it:
  /// it is unpinned as soon as it stands in its place.
  ///
  /// - Complexity: O(1), amortised.
  @usableFromInline
  final func attach(_ handler: Handler, isPinned: Bool = false) {
    if Hooks.flags & Hooks.tracing != 0 { noteAttachment(of: handler) }
    var word = output.load(ordering: .acquiring)
    if input.load(ordering: .relaxed) & Input.disowned != 0, word & Output.linked == 0 {
      return attachToCancelled(handler, isPinned: isPinned)
    }
    if word & Output.settled != 0, word & Output.owned == 0 {
      return deliverAtOnce(handler, isPinned: isPinned)
    }
    if push(handler, onto: &word, isPinned: isPinned) {
      // Was it cancelled by name meanwhile? Who does that writes `input`, then `output`.
      if input.load(ordering: .acquiring) & Input.disowned != 0 { handler.withdraw() }
      return
    }
    if word & Output.linked != 0 {
      attachBeyondLinks(handler, isPinned: isPinned)
    } else {
      deliverAtOnce(handler, isPinned: isPinned)
    }
  }

  @inline(never)
  private final func noteAttachment(of handler: Handler) {
    Tracing.note(
      handler,
      .attached(
        source: Diagnostics.PromiseID(root), isSettled: root.isSettledRoot,
        executor: handler.tracedExecutor, isOperator: handler.body != nil))
  }

  /// Counts `handler` and pushes it onto the list of observers; false if this cell has none.
  private final func push(
    _ handler: Handler, onto word: inout UInt, isPinned: Bool
  ) -> Bool {
    let node = Unmanaged.passRetained(handler)
    let address = UInt(bitPattern: node.toOpaque())
    var isCounted = false
    while true {
      if word & Output.linked != 0 || (word & Output.settled != 0 && word & Output.owned == 0) {
        node.release()
        if isCounted { input.wrappingSubtract(Input.consumer, ordering: .relaxed) }
        return false
      }
      if !isCounted, word & ~Output.claimed != 0 {
        // Counted before it can be seen, so that nobody takes the cell for deserted. The first
        // observer has its place in the count already.
        input.wrappingAdd(Input.consumer, ordering: .relaxed)
        isCounted = true
      }
      handler.next = Output.pointer(word).map { Unmanaged.fromOpaque($0) }
      let (done, now) = output.weakCompareExchange(
        expected: word, desired: address | (word & Output.mask),
        successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
      if done {
        if isPinned { handler.unpin() }
        return true
      }
      word = now
    }
  }

  private final func deliverAtOnce(_ handler: Handler, isPinned: Bool) {
    if isPinned { handler.unpin() }
    deliver(handler, rejected: isRejected)
  }

  /// Adds `handler` to the observers of the root that this cell is linked to.
  private final func attachBeyondLinks(_ handler: Handler, isPinned: Bool) {
    while true {
      let root = followLinks()
      var word = root.output.load(ordering: .acquiring)
      if Output.isAbandoned(word) {
        if isPinned { handler.unpin() }
        handler.abandonUncalled()
        return
      }
      handler.slot = root
      handler.input.bitwiseOr(Input.viaLink, ordering: .relaxed)
      if word & Output.settled != 0, word & Output.owned == 0 {
        root.deliverAtOnce(handler, isPinned: isPinned)
        return
      }
      root.input.bitwiseOr(Input.shared, ordering: .relaxed)
      if root.push(handler, onto: &word, isPinned: isPinned) { return }
    }
  }

  /// Hands `handler` a cancellation, as this cell's promise was cancelled by name.
  private final func attachToCancelled(_ handler: Handler, isPinned: Bool) {
    handler.slot = Cancellation.source
    if isPinned { handler.unpin() }
    deliver(handler, rejected: true)
  }

  /// Delivers the observers in `list`, then whoever was attached meanwhile, and gives up the
  /// ownership of the list.
  ///
  /// The caller has set `owned` on this settled cell.
  final func deliverAll(from list: UnsafeMutableRawPointer) {
    let isRejected = isRejected
    let state = ThreadState.current
    var batch = HandlerList.oldestFirst(list)
    while true {
      while let node = batch {
        batch = node._withUnsafeGuaranteedRef { $0.next }
        let handler = node.takeRetainedValue()
        handler.next = nil
        if handler.input.load(ordering: .acquiring) & Input.detached == 0 {
          deliver(handler, rejected: isRejected, on: state, isOwned: true)
        } else {
          // It has turned away, so the error does not go unnoticed by mistake.
          rejection?.markHandled()
        }
      }
      if ThreadState.holdsAlone(self, state) {
        // Nobody can come any more. Who came before let go of its reference after that, and the
        // fence has us see what it did.
        atomicMemoryFence(ordering: .acquiring)
        if output.load(ordering: .relaxed) == Output.settled | Output.owned {
          output.store(Output.settled, ordering: .relaxed)
          return
        }
      }
      let (done, now) = output.compareExchange(
        expected: Output.settled | Output.owned, desired: Output.settled,
        ordering: .acquiringAndReleasing)
      if done { return }
      let late = output.exchange(
        Output.settled | Output.owned, ordering: .acquiringAndReleasing)
      assert(late & Output.owned != 0 && now & Output.owned != 0)
      batch = Output.pointer(late).flatMap { HandlerList.oldestFirst($0) }
    }
  }

  /// Removes the observers that have withdrawn, once they are many: a promise that outlives many
  /// races must not keep what the races left behind.
  final func noteDeadObserver() {
    let word = input.wrappingAdd(Input.dead, ordering: .relaxed).newValue
    let dead = Input.deadObservers(word)
    if dead >= 16, dead >= Input.consumers(word) { sweep() }
  }

  private final func sweep() {
    guard let list = takeObservers() else { return }
    let (living, dead, count) = HandlerList.partition(list)
    // A list does not get empty again before it is delivered: by that the first observer is known.
    let tombstone = living == nil ? HandlerList.Node.passRetained(.tombstone()) : nil
    let gone = tombstone == nil ? count : count - 1
    input.wrappingSubtract(Input.dead &* UInt64(gone), ordering: .relaxed)
    putBack(living ?? tombstone)
    HandlerList.release(dead)
  }

  /// Takes the list of observers of a pending cell and becomes its owner, until `putBack(_:)`.
  ///
  /// Returns nil, and changes nothing, if there is none to be had.
  final func takeObservers() -> UnsafeMutableRawPointer? {
    var word = output.load(ordering: .acquiring)
    while true {
      let isFree = word & (Output.owned | Output.settled | Output.linked) == 0
      guard isFree, let list = Output.pointer(word) else { return nil }
      let (done, now) = output.weakCompareExchange(
        expected: word, desired: (word & Output.claimed) | Output.owned,
        ordering: .acquiringAndReleasing)
      if done { return list }
      word = now
    }
  }

  /// Puts observers, newest first, below whoever came meanwhile, and gives up the ownership; or
  /// delivers them all if the cell has settled.
  final func putBack(_ observers: HandlerList.Node?) {
    var word = output.load(ordering: .acquiring)
    while true {
      if word & Output.linked != 0 {
        // Abandoned meanwhile.
        HandlerList.abandon(observers)
        return
      }
      let newer = Output.pointer(word)
      HandlerList.append(observers, below: newer)
      let head = newer ?? observers?.toOpaque()
      let mustDeliver = word & Output.settled != 0 && head != nil
      let next =
        mustDeliver
        ? Output.settled | Output.owned
        : UInt(bitPattern: head) | (word & (Output.claimed | Output.settled))
      let (done, now) = output.weakCompareExchange(
        expected: word, desired: next, ordering: .acquiringAndReleasing)
      if done {
        if mustDeliver, let head { deliverAll(from: head) }
        return
      }
      HandlerList.cut(newer, above: observers)
      word = now
    }
  }
}

extension Handler {
  /// Stands in a list for observers that have withdrawn and are gone.
  fileprivate static func tombstone() -> Handler {
    Handler(
      input: Input.taken | Input.detached, source: Cancellation.source, target: nil, body: nil,
      run: { _, _ in })
  }
}

/// Hands a handler to its executor, or runs it here if it has nothing to say to the outcome.
///
/// `isOwned` says that the caller has taken the handler out of its list, and holds it with the
/// reference that the list had.
func deliver(
  _ handler: Handler, rejected: Bool,
  on state: UnsafeMutablePointer<ThreadState> = ThreadState.current, isOwned: Bool = false
) {
  let flags = handler.input.load(ordering: .relaxed)
  let wants = rejected ? Cell.Input.wantsRejection : Cell.Input.wantsValue
  guard flags & wants != 0, let target = handler.target else {
    Trampoline.perform(handler, state, isOwned: isOwned)
    return
  }
  target._withUnsafeGuaranteedRef { target in
    if flags & Cell.Input.queueTarget != 0 {
      QueueTurn.enqueue(handler, on: target, state)
    } else {
      unsafeDowncast(target, to: Scheduler.self).enqueue(handler)
    }
  }
}

/// Operations on lists of handlers that are linked by `next`.
enum HandlerList {
  typealias Node = Unmanaged<Handler>

  /// Turns a stack, newest first, into a list, oldest first.
  static func oldestFirst(_ stack: UnsafeMutableRawPointer) -> Node? {
    var rest: Node? = Node.fromOpaque(stack)
    var reversed: Node?
    while let node = rest {
      node._withUnsafeGuaranteedRef {
        rest = $0.next
        $0.next = reversed
      }
      reversed = node
    }
    return reversed
  }

  /// Splits a stack into the observers that still wait and those that have withdrawn.
  static func partition(
    _ stack: UnsafeMutableRawPointer
  ) -> (living: Node?, dead: Node?, deadCount: Int) {
    var rest: Node? = Node.fromOpaque(stack)
    var living: Node?
    var lastLiving: Node?
    var dead: Node?
    var count = 0
    while let node = rest {
      node._withUnsafeGuaranteedRef { handler in
        rest = handler.next
        handler.next = nil
        if handler.input.load(ordering: .acquiring) & Cell.Input.detached != 0 {
          handler.next = dead
          dead = node
          count += 1
        } else {
          if let lastLiving {
            lastLiving._withUnsafeGuaranteedRef { $0.next = node }
          } else {
            living = node
          }
          lastLiving = node
        }
      }
    }
    return (living, dead, count)
  }

  /// Lets go of all nodes of a list.
  static func release(_ list: Node?) {
    var rest = list
    while let node = rest {
      rest = node._withUnsafeGuaranteedRef { $0.next }
      node.release()
    }
  }

  /// Hangs `older` below the last node of `newer`.
  static func append(_ older: Node?, below newer: UnsafeMutableRawPointer?) {
    guard let newer, let older else { return }
    var node = Node.fromOpaque(newer)
    while let next = node._withUnsafeGuaranteedRef({ $0.next }) { node = next }
    node._withUnsafeGuaranteedRef { $0.next = older }
  }

  /// Undoes `append`.
  static func cut(_ newer: UnsafeMutableRawPointer?, above older: Node?) {
    guard let newer, let older else { return }
    var node = Node.fromOpaque(newer)
    while let next = node._withUnsafeGuaranteedRef({ $0.next }) {
      if next.toOpaque() == older.toOpaque() {
        node._withUnsafeGuaranteedRef { $0.next = nil }
        return
      }
      node = next
    }
  }
}
