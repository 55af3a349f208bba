import Synchronization

// The list of observers: attaching, delivering in order, and clearing out the dead.

extension Cell {
  /// Adds `handler` to the observers of this cell's root, or hands it to its executor at once if
  /// that is settled.
  ///
  /// `isCounted` says that the caller has counted the handler as a consumer of this cell;
  /// `isVisible`, that others know the handler already and may cancel it meanwhile.
  ///
  /// - Complexity: O(1), amortised.
  @usableFromInline
  final func attach(_ handler: Handler, isCounted: Bool = false, isVisible: Bool = false) {
    var cell = self
    var isCounted = isCounted
    var word = cell.output.load(ordering: .acquiring)
    if word & Output.linked != 0 {
      if isCounted { input.wrappingSubtract(Input.consumer, ordering: .relaxed) }
      isCounted = false
      cell = followLinks()
      word = cell.output.load(ordering: .acquiring)
      if isVisible {
        guard handler.redirect(from: self, to: cell) else {
          // Whoever cancelled it has taken back an interest that it had yet to show.
          cell.input.wrappingAdd(Input.consumer, ordering: .relaxed)
          return
        }
      } else {
        handler.slot = cell
      }
      handler.input.bitwiseOr(Input.viaLink, ordering: .relaxed)
      cell.input.bitwiseOr(Input.shared, ordering: .relaxed)
    }
    if word & Output.settled != 0, word & Output.owned == 0 {
      deliver(handler, rejected: cell.rejection != nil)
      return
    }
    // Counted before it can be seen, so that nobody takes the cell for deserted.
    let flags =
      isCounted
      ? cell.input.load(ordering: .relaxed)
      : cell.input.wrappingAdd(Input.consumer, ordering: .relaxed).newValue
    let node = Unmanaged.passRetained(handler)
    let address = UInt(bitPattern: node.toOpaque())
    while true {
      if word & Output.linked != 0 {
        cell.input.wrappingSubtract(Input.consumer, ordering: .relaxed)
        node.release()
        cell.attach(handler, isVisible: isVisible)
        return
      }
      if word & Output.settled != 0, word & Output.owned == 0 {
        node.release()
        deliver(handler, rejected: cell.rejection != nil)
        return
      }
      handler.next = Output.pointer(word).map { Unmanaged.fromOpaque($0) }
      let (done, now) = cell.output.weakCompareExchange(
        expected: word, desired: address | (word & Output.mask),
        successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
      if done { break }
      word = now
    }
    if flags & Input.abandoned != 0 { cell.abandonObservers() }
  }

  /// Delivers the observers in `list`, then whoever was attached meanwhile, and gives up the
  /// ownership of the list.
  ///
  /// The caller has set `owned` on this settled cell.
  final func deliverAll(from list: UnsafeMutableRawPointer) {
    let isRejected = rejection != nil
    var batch = HandlerList.oldestFirst(list)
    while true {
      while let node = batch {
        batch = node._withUnsafeGuaranteedRef { $0.next }
        let handler = node.takeRetainedValue()
        handler.next = nil
        if handler.input.load(ordering: .acquiring) & Input.detached == 0 {
          deliver(handler, rejected: isRejected)
        } else {
          // It has turned away, so the error does not go unnoticed by mistake.
          rejection?.markHandled()
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
    var word = output.load(ordering: .acquiring)
    while true {
      let isFree = word & (Output.owned | Output.settled | Output.linked) == 0
      guard isFree, Output.pointer(word) != nil else { return }
      let (done, now) = output.weakCompareExchange(
        expected: word, desired: (word & Output.claimed) | Output.owned,
        ordering: .acquiringAndReleasing)
      if done { break }
      word = now
    }
    guard let list = Output.pointer(word) else { return }
    let (living, dead, count) = HandlerList.partition(list)
    input.wrappingSubtract(Input.dead &* UInt64(count), ordering: .relaxed)

    // Put the living back below whoever came meanwhile, or deliver them if the cell has settled.
    word = output.load(ordering: .acquiring)
    while true {
      if word & Output.settled != 0 {
        let late = output.exchange(
          Output.settled | Output.owned, ordering: .acquiringAndReleasing)
        HandlerList.append(living, below: Output.pointer(late))
        if let all = Output.pointer(late) ?? living?.toOpaque() {
          deliverAll(from: all)
        } else if !output.compareExchange(
          expected: Output.settled | Output.owned, desired: Output.settled,
          ordering: .acquiringAndReleasing
        ).exchanged {
          // Somebody was attached since: theirs is the whole list now.
          let late = output.exchange(
            Output.settled | Output.owned, ordering: .acquiringAndReleasing)
          if let list = Output.pointer(late) { deliverAll(from: list) }
        }
        break
      }
      let newer = Output.pointer(word)
      HandlerList.append(living, below: newer)
      let head = newer ?? living?.toOpaque()
      let (done, now) = output.weakCompareExchange(
        expected: word, desired: UInt(bitPattern: head) | (word & Output.claimed),
        ordering: .acquiringAndReleasing)
      if done { break }
      HandlerList.cut(newer, above: living)
      word = now
    }
    HandlerList.release(dead)
  }
}

extension Handler {
  /// Makes a handler that waits for `linked` wait for its root; false if it waits no more.
  fileprivate final func redirect(from linked: Cell, to root: Cell) -> Bool {
    guard pinUnlessTaken() else { return false }
    let isWaiting = slot === linked
    if isWaiting { slot = root }
    unpin()
    return isWaiting
  }
}

/// Hands a handler to its executor, or runs it here if it has nothing to say to the outcome.
@usableFromInline
func deliver(_ handler: Handler, rejected: Bool) {
  let flags = handler.input.load(ordering: .relaxed)
  let wants = rejected ? Cell.Input.wantsRejection : Cell.Input.wantsValue
  guard flags & wants != 0, let target = handler.target else {
    Trampoline.perform(handler)
    return
  }
  if flags & Cell.Input.queueTarget != 0 {
    QueueTurn.enqueue(handler, on: target)
  } else {
    unsafeDowncast(target, to: Scheduler.self).enqueue(handler)
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
