/// Handing observers of a settled cell to their executors.
enum Delivery {
  /// Delivers the observers of `cell`, which has just settled; the list starts with the newest.
  ///
  /// First, `inOrder`, all observers with an executor are handed over, including those that are
  /// attached in the meantime, which runs no user code except `enqueue` of custom executors. Then,
  /// when the cell is in the state `settled`, the others run in place: those of the library first,
  /// because threads can wait for them while a user's closure blocks.
  static func deliver(
    _ newest: Unmanaged<Handler>, of cell: Cell, _ rejection: Rejection?, inOrder: Bool
  ) {
    let state = ThreadState.current
    // If the cell's own handler is running on this thread, its closure has returned.
    let isRunning =
      state.pointee.running?.toOpaque() == Unmanaged.passUnretained(cell).toOpaque()
    if isRunning { state.pointee.closuresOnStack &-= 1 }
    if !inOrder, ObserverList.next(newest) == nil {
      // The most frequent case by far.
      newest._withUnsafeGuaranteedRef { Trampoline.perform($0, state) }
      newest.release()
    } else {
      deliverAll(newest, of: cell, rejection, inOrder: inOrder, state)
    }
    if isRunning { state.pointee.closuresOnStack &+= 1 }
  }

  /// Runs the only observer of a cell whose own handler has just settled it on this thread.
  @inline(__always)
  static func deliverOnly(_ observer: Unmanaged<Handler>) {
    let state = ThreadState.current
    state.pointee.closuresOnStack &-= 1
    observer._withUnsafeGuaranteedRef { Trampoline.perform($0, state) }
    observer.release()
    state.pointee.closuresOnStack &+= 1
  }

  private static func deliverAll(
    _ newest: Unmanaged<Handler>, of cell: Cell, _ rejection: Rejection?, inOrder: Bool,
    _ state: UnsafeMutablePointer<ThreadState>
  ) {
    // One level of nesting, so that what executors drop waits until all observers are handed over.
    if inOrder { state.pointee.depth += 1 }
    var (library, closures) = (InPlaceList(), InPlaceList())
    var batch: Unmanaged<Handler>? = newest
    var isFirst = true
    while let newest = batch {
      var rest: Unmanaged<Handler>? = ObserverList.oldestFirst(newest)
      while let node = rest {
        rest = ObserverList.next(node)
        ObserverList.setNext(node, nil)
        let isSole = isFirst && rest == nil
        isFirst = false
        let isForTarget = node._withUnsafeGuaranteedRef { handler in
          guard handler.target != nil, handler.receives(rejection) else { return false }
          handler.sendToTarget(isSole: isSole, state)
          return true
        }
        if isForTarget {
          node.release()
        } else if node._withUnsafeGuaranteedRef({ $0.callsClosureInPlace }) {
          closures.append(node)
        } else {
          library.append(node)
        }
      }
      batch = inOrder ? cell.takeLateObservers() : nil
    }
    library.append(closures)
    library.run(state)
    if inOrder { Trampoline.leave(state) }
  }

  /// Delivers a handler whose source has settled, or was replaced by a settled cell.
  static func deliver(_ handler: Handler, _ rejection: Rejection?) {
    let state = ThreadState.current
    if handler.target != nil, handler.receives(rejection) {
      handler.sendToTarget(isSole: false, state)
    } else {
      Trampoline.perform(handler, state)
    }
  }

  /// Runs all in-place jobs that would otherwise wait for this thread's stack to unwind.
  ///
  /// Called before the thread blocks.
  static func runPendingInPlace(_ state: UnsafeMutablePointer<ThreadState>) {
    var lists = state.pointee.jobsOfCaller
    while let list = lists?.assumingMemoryBound(to: InPlaceList.self) {
      while let node = list.pointee.popFirst() {
        state.pointee.deferred.append(node.takeRetainedValue())
      }
      lists = list.pointee.outer
    }
    Trampoline.drain(state)
  }
}

/// Handlers to run in place, oldest first, linked by `next` as in the list of observers.
private struct InPlaceList {
  private var oldest: Unmanaged<Handler>?
  private var newest: Unmanaged<Handler>?
  /// The list of the enclosing delivery on the thread's stack.
  private(set) var outer: UnsafeMutableRawPointer?

  /// Appends `node` and takes ownership of the reference to it.
  mutating func append(_ node: Unmanaged<Handler>) {
    if let newest { ObserverList.setNext(newest, node) } else { oldest = node }
    newest = node
  }

  /// Appends all of `others`.
  mutating func append(_ others: InPlaceList) {
    guard let first = others.oldest else { return }
    append(first)
    newest = others.newest
  }

  mutating func popFirst() -> Unmanaged<Handler>? {
    guard let node = oldest else { return nil }
    oldest = ObserverList.next(node)
    if oldest == nil { newest = nil }
    ObserverList.setNext(node, nil)
    return node
  }

  mutating func run(_ state: UnsafeMutablePointer<ThreadState>) {
    if oldest == nil { return }
    // While one of them runs, a closure that is about to block can run the others; see
    // `runPendingInPlace`.
    withUnsafeMutablePointer(to: &self) { list in
      list.pointee.outer = exchange(
        &state.pointee.jobsOfCaller, with: UnsafeMutableRawPointer(list))
      while let node = list.pointee.popFirst() {
        // While more of them wait, no turn may keep a job for itself: they could block until it has
        // run.
        let waiting = list.pointee.oldest == nil ? 0 : 1
        state.pointee.closuresOnStack &+= waiting
        node._withUnsafeGuaranteedRef { Trampoline.perform($0, state) }
        node.release()
        state.pointee.closuresOnStack &-= waiting
      }
      state.pointee.jobsOfCaller = list.pointee.outer
    }
  }
}

extension Cell {
  /// Adds `handler` to the observers of this cell, or delivers it immediately if the cell has
  /// settled.
  ///
  /// - Complexity: O(1).
  @usableFromInline
  final func attach(_ handler: Handler) {
    Instrumentation.note(handler, .attached(source: self, observer: handler))
    if !add(handler) { Delivery.deliver(handler, rejection) }
  }

  /// Attaches a handler that produces a `U` from this cell's result; returns the handler's cell.
  @inlinable
  final func derive<U>(
    _ type: U.Type, _ role: Role, on target: HandlerTarget = .inPlace,
    body: __owned ErasedClosure? = nil, run: @escaping @Sendable (Handler, Cell) -> Void
  ) -> Cell {
    let cell = Derived<U?>(role, of: self, on: target, body: body, run: run)
    attach(cell)
    return cell
  }
}
