// Adoption: a handler's closure returned a promise, and the handler's own promise settles as that.
//
// The handler waits again, now for the inner promise: it becomes another observer of that promise
// and passes the result on. A promise that has other observers therefore continues when the outer
// one is cancelled, without a special rule.
//
// In this way, a recursive loop would grow by one observer per round. Therefore, a cell in the
// middle, which adopts one cell and is adopted by its only observer, is taken out, and these two
// are linked to each other, provided that only they refer to it: a cell without a promise can be
// neither observed nor cancelled. A cell that the program still holds stays where it is, with its
// own result. A cell that a thread holds for a moment, such as the handler that has just adopted,
// is taken out in a later round.
//
// Both are single steps under the locks of the cells concerned, so that every thread finds the
// cells linked both ways: a cell that adopts another one is in its list. The adoption comes first,
// then the search for cycles, and then the cells that are now in the middle are taken out.

extension Handler {
  /// Makes this handler's promise settle as `inner`.
  ///
  /// Called at the end of `run`, by the thread that runs it; `run` must pass on the result of its
  /// source when it finds that `body` has been taken out.
  @inlinable
  final func adopt<Value>(_ inner: Cell, as type: Value.Type) {
    if !inner.isSettled, startWaiting(for: inner) { return }
    noteAdoption(of: inner, isSettled: true)
    if isCancelled {
      inner.noteUnwanted()
      fail(.cancellation)
    } else {
      if inner.rejection != nil { inner.noteConsumerOfRejection() }
      copyResult(of: inner, as: type)
    }
  }

  /// Makes this handler wait for `inner`, or rejects its promise; false if `inner` has settled.
  @usableFromInline
  final func startWaiting(for inner: Cell) -> Bool {
    if inner === self {
      fail(Rejection(PromiseError.returnedItself, origin: nil))
      return true
    }
    switch adoptPending(inner) {
    case .settled:
      return false
    case .refused:
      refuse(inner)
    case .adopted:
      noteAdoption(of: inner, isSettled: false)
      Instrumentation.note(self, .waits(source: inner, handler: self))
      if wasAdopted { breakCircles() }
      closeRow(around: inner)
    }
    return true
  }

  /// Rejects this handler's promise instead of adopting `inner`, because it was cancelled while the
  /// closure ran.
  private final func refuse(_ inner: Cell) {
    if inner.isUnconsumed {
      // Nothing consumes its error, if it is rejected.
      inner.keep()
      inner.cancel()
    } else if inner.isSettled {
      // It was rejected since it could not be adopted.
      inner.noteUnwanted()
    }
    fail(.cancellation)
  }

  /// Reports to the tracer that the promise of `cell` continues under the name of this one.
  @usableFromInline
  final func noteAdoption(of cell: Cell, isSettled: Bool) {
    Instrumentation.note(self, .adopted(cell, isSettled: isSettled))
  }

  /// Rejects promises that wait for themselves, through promises that handlers have returned
  /// (Promises/A+ 2.3.1).
  ///
  /// Of the threads that close a cycle at the same time, the last one to adopt finds it closed.
  private final func breakCircles() {
    while let cell = memberOfCircle {
      let error = Rejection(PromiseError.returnedItself, origin: nil)
      let replacement = Root<Never?>(rejection: error)
      let member = unsafeDowncast(cell, to: Handler.self)
      guard let source = member.detach(finding: replacement, isCancellation: false) else {
        // Another thread has changed it.
        error.markHandled()
        continue
      }
      _ = source.remove(member, keepsProducer: true)
      Delivery.deliver(member, wanted: 0)
    }
  }

  /// A cell of the cycle that this one's promise waits for, if there is one.
  ///
  /// Brent's algorithm: a walk that looks for a cell that it has already visited. Whatever other
  /// threads take out at the same time, each step leads farther in, so only a cycle leads back.
  private final var memberOfCircle: Cell? {
    var landmark: Cell = self
    var steps = 0
    var limit = 1
    var next = landmark.adoptedSource
    while let cell = next {
      if cell === landmark { return cell }
      steps += 1
      if steps == limit {
        landmark = cell
        steps = 0
        limit *= 2
      }
      next = cell.adoptedSource
    }
    return nil
  }
}

// MARK: - Rows of adoptions

extension Handler {
  /// Takes out what is in the middle of the row of adoptions in which this handler adopted `inner`.
  ///
  /// Each cell that is still held uses up some patience. It suffices for the handlers that still
  /// run on other threads and, from time to time, for cells that are held for long: every second
  /// time for 8, every fourth for 16, and so on. No cell is therefore forgotten, and a row of which
  /// the program holds every promise costs O(log n) per round.
  fileprivate final func closeRow(around inner: Cell) {
    let state = ThreadState.current
    state.pointee.adoptions &+= 1
    var patience = 4 << min(state.pointee.adoptions.trailingZeroBitCount, 60)
    closeRow(from: self, &patience) { $0 }
    closeRow(from: inner, &patience) { $0.wasAdopting ? $0.adoptedSource?.adoptedSource : nil }
  }

  /// Takes out cells, beginning at `cell`: observers of the one that `source` tells for it, and so on.
  @inline(__always)
  private final func closeRow(
    from cell: Cell, _ patience: inout Int, source: (Cell) -> Cell?
  ) {
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
