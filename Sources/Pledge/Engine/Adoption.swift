import Synchronization

// Adoption: a handler returned a promise, and the handler's own promise takes on its fate.
//
// Where nobody has observed the inner promise yet, it is linked to the outer one: whoever settles it
// settles the root, and the inner cell is free to go as soon as its own handler has run. That is
// what lets a recursive chain run for ever in constant memory (the idea is Twitter's
// `Promise.become` and Scala's `DefaultPromise.linkRootOf`). Otherwise, and where the inner promise
// was returned from another handler already, the handler waits once more, now for the inner one.
//
// A handler that adopts is out of reach until it stands in its new place: it goes from `taken` to
// `pinned` in one step, so whoever cancels it finds it running or waiting and nothing in between.

extension Handler {
  /// Makes this handler's promise take on the fate of `inner`.
  ///
  /// Called at the end of `run`, by the thread that ran it; `run` must forward the result of its
  /// source when it finds `body` gone.
  @usableFromInline
  final func adopt(_ inner: Cell, copy: (Cell, Cell) -> Void) {
    let innerRoot = inner.visibleRoot
    Tracing.note(
      self,
      .adopted(inner: Diagnostics.PromiseID(innerRoot), isSettled: innerRoot.isSettledRoot))
    while !tryToAdopt(inner, copy: copy) {}
  }

  /// Does it; false if this cell, or its root, was linked to another one meanwhile.
  private final func tryToAdopt(_ inner: Cell, copy: (Cell, Cell) -> Void) -> Bool {
    let outer = root
    let innerRoot = inner.visibleRoot
    if innerRoot === outer {
      reject(Rejection(PromiseError.returnedItself, origin: nil))
      return true
    }
    if innerRoot.isSettledRoot {
      if input.load(ordering: .relaxed) & Input.cancelled != 0 {
        reject(Rejection.cancellation())
      } else {
        copy(self, innerRoot)
      }
      return true
    }
    if outer !== self {
      // The outer cell waits for this one, which is linked to it: it can wait for the inner one.
      guard outer.pinUnlessTaken() else {
        refuse(inner)
        return true
      }
      let flags = outer.input.load(ordering: .acquiring) | input.load(ordering: .acquiring)
      let isCancelled = flags & Input.cancelled != 0
      let isLinked = !isCancelled && outer.slot === self && inner.link(to: outer)
      let previous = isLinked ? outer.waitFor(inner) : nil
      outer.unpin()
      withExtendedLifetime(previous) {}
      if isCancelled { refuse(inner) }
      if isCancelled || isLinked { return true }
      if outer.root !== outer { return false }
    }
    guard becomePinned() else {
      refuse(inner)
      return true
    }
    if outer === self, inner.link(to: self) {
      _ = waitFor(inner)
      unpin()
    } else if root !== outer {
      becomeTaken()
      return false
    } else {
      slot = inner
      inner.attach(self, isPinned: true)
    }
    return true
  }

  /// Is rejected in place of adopting `inner`, since it was cancelled while it ran.
  private final func refuse(_ inner: Cell) {
    inner.cancelIfDeserted()
    reject(Rejection.cancellation())
  }

  /// Goes from `taken` to `pinned`, and from now on passes everything through; false if the handler
  /// was cancelled.
  private final func becomePinned() -> Bool {
    var word = input.load(ordering: .acquiring)
    while word & Input.cancelled == 0 {
      let waiting = word & ~(Input.taken | Input.wantsValue | Input.wantsRejection)
      let (done, now) = input.weakCompareExchange(
        expected: word, desired: waiting | Input.pinned, ordering: .acquiringAndReleasing)
      if done { return true }
      word = now
    }
    return false
  }

  /// Goes back from `pinned` to `taken`.
  private final func becomeTaken() {
    // Nobody else changes either of them while the cell is pinned.
    input.bitwiseXor(Input.pinned | Input.taken, ordering: .acquiringAndReleasing)
  }
}

/// Held while a cell is linked to one that could be linked itself.
private let linking = Mutex<Void>(())

extension Cell {
  /// Links this cell, if it is a pending root that nobody has observed, to `outer`, if that is a root.
  ///
  /// Two handlers that return each other's promise at the same moment must not link each of them to
  /// the other one: there would be no root. A cell that somebody has observed is never linked, so
  /// only links to those that nobody has observed are made one after the other.
  fileprivate final func link(to outer: Cell) -> Bool {
    guard input.load(ordering: .acquiring) & Input.kept == 0 else { return false }
    let word = outer.output.load(ordering: .acquiring)
    if word != 0 { return !Output.isLinked(word) && linkAtOnce(to: outer) }
    return linking.withLock { _ in
      !Output.isLinked(outer.output.load(ordering: .acquiring)) && linkAtOnce(to: outer)
    }
  }

  private final func linkAtOnce(to outer: Cell) -> Bool {
    let target = Unmanaged.passRetained(outer)
    let linked = output.compareExchange(
      expected: 0, desired: UInt(bitPattern: target.toOpaque()) | Output.linked,
      ordering: .acquiringAndReleasing
    ).exchanged
    if !linked { target.release() }
    return linked
  }

  /// Makes this cell, whose slot the caller has pinned, wait for `inner`, which has just been
  /// linked to it; or for what that waits for, if that is linked in its turn.
  ///
  /// A cell in the middle would hold what is linked to it, and be held by it, when nobody looks at
  /// its slot any more: only the root's is emptied on settlement.
  ///
  /// - Returns: What this cell waited for up to now; to be let go of without the pin.
  fileprivate final func waitFor(_ inner: Cell) -> AnyObject? {
    var next: AnyObject = inner
    if inner.isHandler, inner.pinUnlessTaken() {
      if let source = inner.slot.map({ unsafeDowncast($0, to: Cell.self) }),
        Output.isLinked(source.output.load(ordering: .acquiring))
      {
        // To this very cell: what a cell observes has a list, and is never linked.
        next = source
        inner.slot = nil
      }
      inner.unpin()
    }
    return exchange(&slot, with: next)
  }
}
