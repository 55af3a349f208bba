import Synchronization

// Adoption: a handler returned a promise, and the handler's own promise takes on its fate.
//
// Where nobody observes the inner promise yet, it is linked to the outer one: whoever settles it
// settles the root, and the inner cell is free to go as soon as its own handler has run. That is
// what lets a recursive chain run for ever in constant memory (the idea is Twitter's
// `Promise.become` and Scala's `DefaultPromise.linkRootOf`). Otherwise the outer cell becomes an
// observer of the inner one.

extension Handler {
  /// Makes this handler's promise take on the fate of `inner`.
  ///
  /// Called at the end of `run`, by the thread that ran it; `run` must forward the result of its
  /// source when it finds `body` gone.
  @usableFromInline
  final func adopt(_ inner: Cell, copy: (Cell, Cell) -> Void) {
    let outer = root
    let inner = inner.root
    if inner === outer {
      reject(Rejection(PromiseError.returnedItself, origin: nil))
      return
    }
    if inner.isSettledRoot {
      if input.load(ordering: .relaxed) & Input.cancelled != 0 {
        reject(Rejection.cancellation())
      } else {
        copy(self, inner)
      }
      return
    }
    // From here on the inner promise has us as a consumer.
    inner.input.wrappingAdd(Input.consumer, ordering: .relaxed)

    let isCancelled: Bool
    if outer === self {
      slot = inner
      let old = input.bitwiseAnd(
        ~(Input.taken | Input.wantsValue | Input.wantsRejection),
        ordering: .acquiringAndReleasing
      ).oldValue
      isCancelled = old & Input.cancelled != 0
    } else {
      // This cell is linked to the outer one, which waits for it: now it waits for the inner one.
      guard outer.pinUnlessTaken() else {
        inner.withdrawConsumer()
        return
      }
      let previous = outer.slot
      outer.slot = inner
      let flags = outer.input.load(ordering: .acquiring) | input.load(ordering: .acquiring)
      outer.unpin()
      withExtendedLifetime(previous) {}
      isCancelled = flags & Input.cancelled != 0
    }

    if isCancelled {
      inner.withdrawConsumer()
      reject(Rejection.cancellation())
      return
    }
    if inner.tryLink(to: outer) {
      outer.waitBeyond(inner)
      return
    }
    if outer === self {
      inner.attach(self, isCounted: true, isVisible: true)
    } else {
      // The outer cell cannot stand in two lists, so a forwarder of its own waits for it.
      let forwarder = Handler(
        input: 0, source: inner, target: nil, body: nil,
        run: { [self] _, source in run(self, source) })
      inner.attach(forwarder, isCounted: true)
    }
  }
}

extension Cell {
  /// Makes this cell, to which `inner` has just been linked, wait for what `inner` waits for, if
  /// that is linked in its turn.
  ///
  /// A cell in the middle would hold what is linked to it, and be held by it, when nobody looks at
  /// its slot any more: only the root's is emptied on settlement.
  fileprivate final func waitBeyond(_ inner: Cell) {
    guard inner.isHandler, inner.pinUnlessTaken() else { return }
    let source = inner.slot.map { unsafeDowncast($0, to: Cell.self) }
    inner.unpin()
    guard let source, source.output.load(ordering: .acquiring) & Output.linked != 0 else { return }
    // First the new way, then the old one out: a canceller finds one of them.
    guard pinUnlessTaken() else {
      inner.forgetSource(source)
      return
    }
    let isWaiting = slot === inner
    if isWaiting { slot = source }
    unpin()
    inner.forgetSource(source)
  }

  private final func forgetSource(_ source: Cell) {
    guard pinUnlessTaken() else { return }
    if slot === source { slot = nil }
    unpin()
  }

  /// Links this cell, which must have no observers and no result, to `outer`.
  fileprivate final func tryLink(to outer: Cell) -> Bool {
    guard input.load(ordering: .acquiring) & Input.kept == 0 else { return false }
    guard outer.pinUnlessTaken() else { return false }
    defer { outer.unpin() }
    guard outer.input.load(ordering: .acquiring) & Input.detached == 0, outer.slot === self else {
      return false
    }
    let target = Unmanaged.passRetained(outer)
    let word = UInt(bitPattern: target.toOpaque()) | Output.linked
    let linked = output.compareExchange(
      expected: 0, desired: word, ordering: .acquiringAndReleasing
    ).exchanged
    if !linked { target.release() }
    return linked
  }
}
