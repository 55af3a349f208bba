import Synchronization

extension Cell {
  /// Drops all that waits for this cell, and what waits for that, without calling it.
  ///
  /// Observers and their sources hold each other while they wait; this takes them apart.
  @usableFromInline
  final func abandonObservers() {
    var abandoned = [root]
    while let cell = abandoned.popLast() {
      cell.input.bitwiseOr(Input.abandoned, ordering: .acquiringAndReleasing)
      // What is linked to this cell and the cell hold each other.
      if let source = cell.takeSlot() { withExtendedLifetime(source) {} }
      var word = cell.output.load(ordering: .acquiring)
      while word & Output.mask == 0, word != 0 {
        let (done, now) = cell.output.weakCompareExchange(
          expected: word, desired: 0, ordering: .acquiringAndReleasing)
        if done { break }
        word = now
      }
      guard word & Output.mask == 0, let list = Output.pointer(word) else { continue }
      var rest = HandlerList.oldestFirst(list)
      while let node = rest {
        rest = node._withUnsafeGuaranteedRef { $0.next }
        let handler = node.takeRetainedValue()
        handler.next = nil
        let source = handler.takeSlot()
        handler.dropBody()
        withExtendedLifetime(source) {}
        abandoned.append(handler.root)
      }
    }
  }
}
