// Adoption: a handler's closure returned a promise, and the handler's own promise settles with the
// result of that promise.
//
// The handler waits again, now for the inner promise: it becomes another observer of that promise
// and passes the result on. A promise that has other observers therefore continues when the outer
// one is cancelled, without a special rule.
//
// With adoption alone, a recursive loop would grow by one observer per round. Therefore, a cell in
// the middle, which adopts one cell and is adopted by its only observer, is removed, and its two
// neighbors are linked to each other, provided that only they refer to it: a cell without a promise
// can't be observed or cancelled. A cell that user code retains stays where it is, with its own
// result. A cell that a thread retains briefly, such as the handler that has just adopted, is
// removed in a later round.
//
// Each is a single step under the locks of the cells involved, so that every thread finds the cells
// linked both ways: a cell that adopts another one is in its list. The adoption comes first, then
// the search for cycles, and then the removal of the cells that are now in the middle.

extension Handler {
  /// Makes this handler's promise settle with the result of `inner`.
  ///
  /// Call this at the end of `run`, on the thread that runs it. When `run` finds that `body` was
  /// already taken, it must pass on the result of its source.
  @inlinable
  final func adopt<Value>(_ inner: Cell, as type: Value.Type) {
    if !startWaiting(for: inner) { copyResult(of: inner, as: type) }
  }

  /// Makes this handler wait for `inner`, or rejects its promise if it was cancelled while the
  /// closure ran; false if `inner` has settled, so that the handler must pass on its result.
  @usableFromInline
  final func startWaiting(for inner: Cell) -> Bool {
    if inner === self {
      fail(Rejection(PromiseError.returnedItself, origin: nil))
      return true
    }
    if adoptPending(inner) {
      Instrumentation.note(self, .adopted(inner, isSettled: false))
      if wasAdopted { breakCycles() }
      closeRow(around: inner)
      return true
    }
    if inner.isSettled { Instrumentation.note(self, .adopted(inner, isSettled: true)) }
    if !isCancelled {
      if inner.isRejected { inner.noteConsumerOfRejection() }
      return false
    }
    let rest = RemainingWork.collect { inner.discard() }
    fail(.cancellation(of: rest + (inner.isSettled && !inner.hasEnded ? [.promise(inner)] : [])))
    return true
  }

  /// Rejects promises that wait for themselves, through promises that handlers have returned
  /// (Promises/A+ 2.3.1).
  ///
  /// Of the threads that close a cycle at the same time, the last one to adopt finds it closed.
  private final func breakCycles() {
    while let cell = memberOfCycle {
      let error = Rejection(PromiseError.returnedItself, origin: nil)
      if !unsafeDowncast(cell, to: Handler.self).leave(.inCycle(error)) {
        // Another thread has already changed it.
        error.markHandled()
      }
    }
  }

  /// A cell of the cycle that this handler's promise waits for, if there is one.
  ///
  /// This is Brent's algorithm: a walk that looks for a cell that it has already visited. Even if
  /// other threads remove cells at the same time, each step leads farther along the row, so only a
  /// cycle leads back.
  private final var memberOfCycle: Cell? {
    var landmark: Cell = self
    var steps = 0
    var next = adoptedSource
    while let cell = next, cell !== landmark {
      steps += 1
      // A power of two.
      if steps & (steps - 1) == 0 { landmark = cell }
      next = cell.adoptedSource
    }
    return next
  }
}

// MARK: - Rows of adoptions

extension Handler {
  /// Removes the cells in the middle of the row of adoptions in which this handler adopted `inner`.
  ///
  /// Each cell that is still retained uses up some patience. There is enough for the handlers that
  /// still run on other threads and, periodically, for cells that are retained for longer: every
  /// second time for 8, every fourth for 16, and so on. No cell is therefore missed, and a row in
  /// which user code retains every promise costs O(log n) per round.
  fileprivate final func closeRow(around inner: Cell) {
    let state = ThreadState.current
    state.pointee.adoptions &+= 1
    var patience = 4 << min(state.pointee.adoptions.trailingZeroBitCount, 60)
    closeRow(from: self, &patience) { $0 }
    closeRow(from: inner, &patience) { $0.wasAdopting ? $0.adoptedSource?.adoptedSource : nil }
  }

  /// Removes cells, starting at `cell`: an observer of the cell that `source` returns for it, and
  /// so on.
  @inline(__always)
  private final func closeRow(from cell: Cell, _ patience: inout Int, source: (Cell) -> Cell?) {
    var cell = cell
    while let source = source(cell) {
      switch source.takeOutObserver() {
      case .notInTheMiddle: return
      case .takenOut: continue
      case .held(let middle): cell = middle
      }
      if patience == 0 { return }
      patience -= 1
    }
  }
}
