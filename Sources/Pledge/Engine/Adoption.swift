// Adoption: a handler's closure returned a promise, and the handler's own promise takes on its fate.
//
// The handler waits once more, now for the inner promise: it becomes one more observer of that, which
// passes the result on. So a promise that others observe, too, goes on when the outer one is
// cancelled, and no rule of its own is needed.
//
// A recursive loop would grow by an observer a round in that way. So a cell in the middle, that
// adopts one cell and is adopted by its only observer, is taken out: a *junction* takes its place, a
// hidden cell that waits for the inner one and that the outer one observes. The cell in the middle is
// forwarded to it: attaching to its promise attaches to the junction, cancelling it cancels the
// junction. A junction stands in for any number of cells, which are released, and a loop takes
// constant memory. (Twitter's `Promise.become` and Scala's `DefaultPromise.linkRootOf` reach the same
// end by linking promises to the outermost one.)
//
// Both are single steps under the locks of the cells concerned, so that every thread finds the cells
// linked both ways: a cell that adopts another one is in its list. First comes the adoption, then the search for
// circles, then the contraction of what is in the middle now.

extension Handler {
  /// Makes this handler's promise take on the fate of `inner`.
  ///
  /// Called at the end of `run`, by the thread that runs it; `run` must pass on the result of its
  /// source when it finds `body` gone.
  @inlinable
  final func adopt<Value>(_ inner: Cell, as type: Value.Type) {
    let settled = settled(inner) {
      Derived<Value?>(junction: { junction, source in
        junction.copyResult(of: source, as: Value.self)
      })
    }
    guard let settled else { return }
    noteAdoption(of: settled, isSettled: true)
    if isCancelled {
      settled.noteUnwanted()
      fail(.cancellation)
    } else {
      if settled.rejection != nil { settled.noteConsumerOfRejection() }
      copyResult(of: settled, as: type)
    }
  }

  /// The settled cell that stands for `inner`; or nil, and this handler waits for it, or was rejected.
  @usableFromInline
  final func settled(_ inner: Cell, makeJunction: () -> Handler) -> Cell? {
    var inner = inner.resolved
    if inner.isSettled { return inner }
    while true {
      if inner === self {
        fail(Rejection(PromiseError.returnedItself, origin: nil))
        return nil
      }
      switch adoptPending(inner) {
      case .settled:
        return inner
      case .forwarded(let junction):
        inner = junction
      case .refused:
        refuse(inner)
        return nil
      case .adopted:
        noteAdoption(of: inner, isSettled: false)
        noteWaiting(for: inner)
        if wasAdopted { breakCircles() }
        contract(makeJunction)
        inner.contract(makeJunction)
        return nil
      }
    }
  }

  /// Rejects this handler's promise in place of adopting `inner`, since it was cancelled while the
  /// closure ran.
  private final func refuse(_ inner: Cell) {
    if inner.isUnconsumed {
      // Its error, if it comes to one, is nobody's business any more.
      inner.keep()
      inner.cancel()
    }
    fail(.cancellation)
  }

  /// Tells the tracer that the promise of `cell` goes on under the name of this one.
  @usableFromInline
  final func noteAdoption(of cell: Cell, isSettled: Bool) {
    Instrumentation.note(self, .adopted(cell, isSettled: isSettled))
  }

  fileprivate final func noteWaiting(for source: Cell) {
    Instrumentation.note(self, .attached(source: source, observer: self))
  }

  /// Rejects promises that wait for themselves, by way of promises that handlers have returned
  /// (Promises/A+ 2.3.1).
  ///
  /// Of the threads that close a circle at the same time the last one to adopt finds it closed.
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

  /// A cell of the circle that this one's promise waits for, if there is one.
  ///
  /// Brent's algorithm: one walker, that looks for a cell where it has been. Whatever other threads
  /// contract meanwhile, each of its steps leads farther in, so it comes back in a circle only.
  private final var memberOfCircle: Cell? {
    var landmark: Cell = resolved
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

extension Cell {
  /// Takes this cell out if it is in the middle, and then its source, and so on.
  fileprivate final func contract(_ makeJunction: () -> Handler) {
    var cell = self
    var fresh: Handler?
    while true {
      switch cell.contract(fresh: fresh) {
      case .notInTheMiddle:
        return
      case .needsJunction:
        fresh = makeJunction()
      case .forwarded(let junction, let source, _):
        junction.noteAdoption(of: cell, isSettled: false)
        if junction !== source { junction.noteWaiting(for: source) }
        if junction === fresh { fresh = nil }
        cell = source
      }
    }
  }
}
