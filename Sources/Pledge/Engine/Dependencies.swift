extension Cell {
  /// Whether this cell, or one that it waits for, is one that `isSought`, or a closure that one of them
  /// waits for would run in a place that `isBlocked`.
  ///
  /// Only what they wait for now is known.
  final func depends(
    on isSought: (Cell) -> Bool, orPlace isBlocked: (HandlerTarget) -> Bool = { _ in false }
  ) -> Bool {
    var rest = [self]
    while var cell = rest.popLast() {
      // The work of a limiter or a coalescer can wait for itself, in a cycle.
      var forwards = 0
      walk: while !cell.isSettled {
        if isSought(cell) { return true }
        switch cell.producer {
        case .source(let source, let callsClosure)?:
          if callsClosure, isBlocked(unsafeDowncast(cell, to: Handler.self).place) { return true }
          cell = source
        case .cell(let source)? where forwards < 100:
          forwards += 1
          cell = source
        case .closure(let target)?:
          if isBlocked(target) { return true }
          break walk
        case .inputs(let pendingInputs)?:
          rest += pendingInputs()
          break walk
        case .cell?, .timer?, nil:
          break walk
        }
      }
    }
    return false
  }
}
