import Synchronization

// Abandonment: observers and their sources hold each other while they wait; where nobody will ever
// settle a promise, this takes them apart.

extension Cell {
  /// Drops all that waits for this cell, and what waits for that, without calling it.
  ///
  /// A cell that is being settled is left alone.
  @usableFromInline
  final func abandon() { Cell.abandon([self]) }

  /// Whether nobody will ever settle this cell.
  @usableFromInline
  final var isAbandoned: Bool { Output.isAbandoned(root.output.load(ordering: .acquiring)) }

  fileprivate static func abandon(_ first: [Cell]) {
    // A list of what is left to do, as chains may be longer than the stack is deep.
    var cells = first
    while let cell = cells.popLast()?.root {
      guard let list = cell.linkToNothing() else {
        // Linked meanwhile, or settled.
        if cell.root !== cell { cells.append(cell) }
        continue
      }
      // What is linked to this cell and the cell hold each other.
      cell.dropInput()
      HandlerList.dropClosures(list.flatMap { HandlerList.oldestFirst($0) }) { cells.append($0) }
    }
  }

  /// Makes this pending root an abandoned one.
  ///
  /// - Returns: Its observers, if any; nil if it is not pending. Who owns the list meanwhile drops
  ///   it in `putBack(_:)`.
  private final func linkToNothing() -> UnsafeMutableRawPointer?? {
    var word = output.load(ordering: .acquiring)
    while word & (Output.linked | Output.claimed | Output.settled) == 0 {
      let (done, now) = output.weakCompareExchange(
        expected: word, desired: (word & Output.owned) | Output.linked,
        ordering: .acquiringAndReleasing)
      if done { return .some(Output.pointer(word)) }
      word = now
    }
    return nil
  }
}

extension Handler {
  /// Drops this handler and all that waits for it, without calling it.
  final func abandonUncalled() {
    guard dropClosure() else { return }
    Cell.abandon([self, abandonedResult()].compactMap { $0 })
  }

  /// False if the handler runs, or has been withdrawn: then it is cancelled, and its promise settles.
  fileprivate final func dropClosure() -> Bool {
    guard pinUnlessTaken() else { return false }
    // From pinned to taken in one step: in between it could be withdrawn, and would have to run.
    var word = input.load(ordering: .acquiring)
    while word & (Input.taken | Input.detached) == 0 {
      let (done, now) = input.weakCompareExchange(
        expected: word, desired: (word & ~Input.pinned) | Input.taken,
        ordering: .acquiringAndReleasing)
      if done {
        let source = exchange(&slot, with: nil)
        dropBody()
        withExtendedLifetime(source) {}
        return true
      }
      word = now
    }
    unpin()
    return false
  }
}

extension HandlerList {
  /// Drops the handlers of a list, and all that waits for them, without calling them.
  static func abandon(_ list: Node?) {
    var cells: [Cell] = []
    dropClosures(list) { cells.append($0) }
    Cell.abandon(cells)
  }

  fileprivate static func dropClosures(_ list: Node?, _ body: (Cell) -> Void) {
    var rest = list
    while let node = rest {
      rest = node._withUnsafeGuaranteedRef { $0.next }
      let handler = node.takeRetainedValue()
      handler.next = nil
      guard handler.dropClosure() else { continue }
      body(handler)
      if let result = handler.abandonedResult() { body(result) }
    }
  }
}
