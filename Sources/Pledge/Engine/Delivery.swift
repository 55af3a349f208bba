/// Handing observers of a settled cell to their executors.
enum Delivery {
  /// Delivers the observers of `cell`, which has just settled; the list starts with the newest.
  ///
  /// First, `inOrder`, all observers with an executor are handed over, including those that are
  /// attached in the meantime, which runs no user code except `enqueue` of custom executors. Then,
  /// when the cell is in the state `settled`, the others run in place: those of the library first,
  /// because threads can wait for them while a user's closure blocks.
  @inline(__always)
  static func deliver(
    _ newest: Observer, of cell: Cell, _ rejection: Rejection?, inOrder: Bool,
    _ state: UnsafeMutablePointer<ThreadState>
  ) {
    if !inOrder, newest.next == nil {
      perform(newest, state)
    } else {
      deliverAll(newest, of: cell, rejection, inOrder: inOrder, state)
    }
  }

  /// Runs an observer in place, and releases it.
  @inline(__always)
  static func perform(_ observer: Observer, _ state: UnsafeMutablePointer<ThreadState>) {
    observer._withUnsafeGuaranteedRef { Trampoline.perform($0, state) }
    observer.release()
  }

  private static func deliverAll(
    _ newest: Observer, of cell: Cell, _ rejection: Rejection?, inOrder: Bool,
    _ state: UnsafeMutablePointer<ThreadState>
  ) {
    // One level of nesting, so that what executors drop waits until all observers are handed over.
    if inOrder { state.pointee.depth += 1 }
    // Those that run in place, newest first.
    var (library, closures): (Observer?, Observer?)
    var batch: Observer? = newest
    var isFirst = true
    while let newest = batch {
      var rest: Observer?
      newest.move(to: &rest)
      while let node = rest {
        rest = node.next
        let isSole = isFirst && rest == nil
        isFirst = false
        let isForTarget = node._withUnsafeGuaranteedRef {
          $0.sendToTarget(for: rejection, isSole: isSole, state)
        }
        if isForTarget {
          node.release()
        } else if node._withUnsafeGuaranteedRef({ $0.target == nil && $0.role.callsClosure }) {
          node.next = closures
          closures = node
        } else {
          node.next = library
          library = node
        }
      }
      batch = inOrder ? cell.takeLateObservers() : nil
    }
    let outer = state.pointee.inPlace
    var chain = outer.map { Observer.fromOpaque($0) }
    closures?.move(to: &chain)
    library?.move(to: &chain)
    state.pointee.inPlace = chain?.toOpaque()
    while state.pointee.inPlace != outer, let node = takeFirstInPlace(state) {
      // While more of them wait, no turn may keep a job for itself: they could block until it has
      // run.
      let waiting = state.pointee.inPlace == outer ? 0 : 1
      state.pointee.closuresOnStack &+= waiting
      perform(node, state)
      state.pointee.closuresOnStack &-= waiting
    }
    if inOrder { Trampoline.leave(state) }
  }

  @inline(__always)
  private static func takeFirstInPlace(_ state: UnsafeMutablePointer<ThreadState>) -> Observer? {
    guard let first = state.pointee.inPlace.map({ Observer.fromOpaque($0) }) else { return nil }
    state.pointee.inPlace = first.next?.toOpaque()
    return first
  }

  /// Delivers a handler whose source has settled, or was replaced by a settled cell.
  static func deliver(_ handler: Handler, _ rejection: Rejection?) {
    let state = ThreadState.current
    if !handler.sendToTarget(for: rejection, isSole: false, state) {
      Trampoline.perform(handler, state)
    }
  }

  /// Runs all in-place jobs that would otherwise wait for this thread's stack to unwind.
  ///
  /// Called before the thread blocks.
  static func runPendingInPlace(_ state: UnsafeMutablePointer<ThreadState>) {
    while let node = takeFirstInPlace(state) {
      state.pointee.deferred.append(node.takeRetainedValue())
    }
    Trampoline.drain(state)
  }
}

extension Cell {
  /// Adds `handler` to the observers of this cell, or delivers it immediately if the cell has
  /// settled.
  ///
  /// - Complexity: O(1).
  @usableFromInline
  final func attach(_ handler: Handler) {
    Instrumentation.note(handler, .attached(handler, to: self))
    attachUntraced(handler)
  }

  /// Adds an observer of the library, for which no promise and no task waits; tracers don't see it.
  @inline(__always)
  final func attachUntraced(_ handler: Handler) {
    if !add(handler) { Delivery.deliver(handler, rejection) }
  }

  /// Calls `body` with this cell when it has settled, without being its consumer.
  final func watchUntraced(_ body: @escaping @Sendable (Cell) -> Void) {
    attachUntraced(
      Handler(.watchingObserver, of: self, on: .inPlace, body: nil, run: { body($1) }))
  }

  /// Attaches a handler that produces a `U` from this cell's result; returns the handler's cell.
  @inlinable
  final func derive<U>(
    _ type: U.Type, _ role: Role, on target: HandlerTarget = .inPlace,
    body: __owned ErasedClosure? = nil, run: @escaping @Sendable (Handler, Cell) -> Void
  ) -> Cell {
    let cell = Derived<U>(role, of: self, on: target, body: consume body, run: run)
    attach(cell)
    return cell
  }
}
