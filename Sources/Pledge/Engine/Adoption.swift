// Adoption: a handler's closure returned a promise, and the handler's own promise takes on its fate.
//
// The handler waits once more, now for the inner promise: it becomes one more observer of that, which
// passes the result on. So a promise that others observe, too, goes on when the outer one is
// cancelled, and no rule of its own is needed.
//
// A recursive loop would grow by an observer a round in that way. So where a promise is in the
// middle, adopted by one and adopting another, and nobody else observes it, a *junction* takes its
// place: a hidden cell that waits for the innermost promise and that the outer one observes. The
// promises in the middle are forwarded to the junction, which is the same for all of them: attaching
// to such a promise attaches to the junction, cancelling it cancels the junction. They are free to
// go, and a loop takes constant memory. (Twitter's `Promise.become` and Scala's
// `DefaultPromise.linkRootOf` reach the same end by linking promises to the outermost one.)

extension Handler {
  /// Makes this handler's promise take on the fate of `inner`.
  ///
  /// Called at the end of `run`, by the thread that runs it; `run` must pass on the result of its
  /// source when it finds `body` gone.
  @inlinable
  final func adopt<Value>(_ inner: Cell, as type: Value.Type) {
    let inner = inner.resolved
    if inner.isSettled {
      adoptSettled(inner)
      if isCancelled {
        inner.rejection?.markHandled()
        fail(.cancellation())
      } else {
        copyResult(of: inner, as: type)
      }
    } else {
      adoptPending(inner) { outer in
        Derived<Value?>(junctionFor: outer) { junction, source in
          junction.copyResult(of: source, as: Value.self)
        }
      }
    }
  }

  @usableFromInline
  final func adoptSettled(_ inner: Cell) {
    Instrumentation.note(self, .adopted(inner, isSettled: true))
  }

  @usableFromInline
  final func adoptPending(_ inner: Cell, makeJunction: (Cell) -> Handler) {
    Instrumentation.note(self, .adopted(inner, isSettled: false))
    if inner === self {
      return fail(Rejection(PromiseError.returnedItself, origin: nil))
    }
    var fresh: Handler?
    while true {
      switch forward(to: inner, fresh: fresh) {
      case .refused:
        return refuse(inner)
      case .needsJunction:
        fresh = makeJunction(self)
      case .moved(let junction):
        junction.noteForwarding(of: self)
        junction.noteWaiting(for: inner)
        return junction.attachAdopter(to: inner, makeJunction: makeJunction)
      case .plain:
        guard beginAdopting(inner) else { return refuse(inner) }
        noteWaiting(for: inner)
        return attachAdopter(to: inner, makeJunction: makeJunction)
      }
    }
  }

  private final func noteWaiting(for source: Cell) {
    Instrumentation.note(self, .attached(source: source, observer: self))
  }

  /// Tells the tracer that `cell`'s promise goes on under the name of this junction.
  private final func noteForwarding(of cell: Cell) {
    Instrumentation.note(self, .adopted(cell, isSettled: false))
  }

  /// Rejects this handler's promise in place of adopting `inner`, since it was cancelled while the
  /// closure ran.
  private final func refuse(_ inner: Cell) {
    if inner.isUnconsumed {
      // Its error, if it comes to one, is nobody's business any more.
      inner.keep()
      inner.cancel()
    }
    fail(.cancellation())
  }

  /// Attaches this handler, which waits for `inner` already, to its observers.
  ///
  /// `former` is an observer of it that has given its place to this one.
  private final func attachAdopter(
    to inner: Cell, ignoring former: Cell? = nil, makeJunction: (Cell) -> Handler
  ) {
    var cell = inner
    var fresh: Handler?
    while true {
      switch cell.add(self, adopts: true, ignoring: former) {
      case .attached:
        // A thread that detached this handler before it was in the list could not remove it.
        if marks & Mark.detached != 0 { return leave(cell) }
        if marks & Mark.adopted != 0 { breakCircle() }
        return
      case .settled:
        return Delivery.deliver(self, wanted: cell.wanted)
      case .forwarded(let junction):
        cell = junction
      case .adopting:
        let isJunction = marks & Mark.junction != 0
        switch cell.givePlace(to: self, fresh: fresh, ignoring: former) {
        case .changed:
          break
        case .circle:
          rejectAsCircle()
          return
        case .needsJunction:
          fresh = makeJunction(cell)
        case .forwarded(let junction, let source):
          // First the new observers, then the old one: so nobody takes the source for unconsumed.
          let next: Cell = isJunction ? source : junction
          junction.noteForwarding(of: cell)
          if junction === fresh { junction.noteWaiting(for: source) }
          _ = changeSource(from: inner, to: next)
          attachAdopter(to: next, ignoring: cell, makeJunction: makeJunction)
          if junction === fresh { junction.attachAdopter(to: source, makeJunction: makeJunction) }
          return unsafeDowncast(cell, to: Handler.self).leave(source)
        }
      }
    }
  }

  /// Removes this handler from the observers of `source`, which is cancelled if nobody is left.
  final func leave(_ source: Cell) {
    if case .removedLast = source.removeResolved(self) { source.cancel() }
  }

  private final func rejectAsCircle() {
    let error = Rejection(PromiseError.returnedItself, origin: nil)
    guard let source = detach(finding: Root<Never?>(rejection: error), isCancellation: false)
    else { return error.markHandled() }
    _ = source.removeResolved(self, keepsProducer: true)
    Delivery.deliver(self, wanted: 0)
  }

  /// Rejects this cell if it waits for itself, by way of promises that handlers have returned
  /// (Promises/A+ 2.3.1).
  ///
  /// Each of the threads that close a circle at the same time first takes its place in it and looks
  /// then, so at least one of them sees it.
  private final func breakCircle() {
    // The second walker, at half the speed, meets the first one in a circle of others.
    var slow: Cell = self
    var fast: Cell? = adoptedSource
    var isEven = false
    while let cell = fast {
      if cell === self { return rejectAsCircle() }
      if cell === slow { return }
      if isEven, let next = slow.adoptedSource { slow = next }
      isEven.toggle()
      fast = cell.adoptedSource
    }
  }
}
