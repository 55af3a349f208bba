/// Handing observers of a settled cell to their executors.
enum Delivery {
  /// The mark of handlers whose closure receives `rejection`, or a value if `rejection` is nil.
  @inline(__always)
  static func wanted(_ rejection: Rejection?) -> UInt64 {
    guard let rejection else { return Cell.Mark.wantsValue }
    return rejection.isAbandonment ? Cell.Mark.hearsAbandonment : Cell.Mark.wantsRejection
  }

  /// Delivers the observers of `cell`, which has just settled; the list starts with the newest.
  ///
  /// First, all observers with an executor are handed over, in order, which runs no user code
  /// except `enqueue` of custom executors. Then, when the cell is in the state `settled`, the
  /// others run in place: those of the library first, because threads can wait for them while a
  /// user's closure blocks.
  static func deliver(
    _ newest: Unmanaged<Handler>, of cell: Cell, wanted: UInt64, inOrder: Bool
  ) {
    let state = ThreadState.current
    // If the cell's own handler is running on this thread, its closure has returned.
    let isRunning =
      state.pointee.running?.toOpaque() == Unmanaged.passUnretained(cell).toOpaque()
    if isRunning { state.pointee.closuresOnStack &-= 1 }
    if inOrder {
      deliverInOrder(newest, of: cell, wanted: wanted, state)
    } else if ObserverList.next(newest) == nil, !ObserverList.isRemoved(newest) {
      // The most frequent case by far: one observer.
      ObserverList.setNext(newest, nil)
      newest._withUnsafeGuaranteedRef { Trampoline.perform($0, state) }
      newest.release()
    } else if state.pointee.isShared, ObserverList.isForElsewhere(newest) {
      // The closure, which is called once, owns the list.
      state.pointee.postponed.append { runInPlace(newest, ThreadState.current) }
    } else {
      runInPlace(newest, state)
    }
    if isRunning { state.pointee.closuresOnStack &+= 1 }
  }

  private static func runInPlace(
    _ newest: Unmanaged<Handler>, _ state: UnsafeMutablePointer<ThreadState>
  ) {
    guard let oldest = ObserverList.oldestFirst(newest) else { return }
    var inPlace = InPlaceList(oldest)
    inPlace.run(state)
  }

  /// Runs the only observer of a cell whose own handler has just settled it on this thread.
  @inline(__always)
  static func deliverOnly(_ observer: Unmanaged<Handler>) {
    let state = ThreadState.current
    state.pointee.closuresOnStack &-= 1
    ObserverList.setNext(observer, nil)
    observer._withUnsafeGuaranteedRef { Trampoline.perform($0, state) }
    observer.release()
    state.pointee.closuresOnStack &+= 1
  }

  private static func deliverInOrder(
    _ newest: Unmanaged<Handler>, of cell: Cell, wanted: UInt64,
    after waiting: InPlaceList = InPlaceList(nil), _ state: UnsafeMutablePointer<ThreadState>
  ) {
    // One level of nesting, so that what executors drop waits until all observers are handed over.
    state.pointee.depth += 1
    defer { Trampoline.leave(state) }
    var inPlace = waiting
    var batch: Unmanaged<Handler>? = newest
    var isFirst = true
    while let newest = batch {
      // The cell stays in the state `delivering`, so that no later observer overtakes these.
      if state.pointee.isShared, ObserverList.isForElsewhere(newest) {
        nonisolated(unsafe) let waiting = inPlace
        state.pointee.postponed.append {
          deliverInOrder(newest, of: cell, wanted: wanted, after: waiting, ThreadState.current)
        }
        return
      }
      var rest = ObserverList.oldestFirst(newest)
      while let node = rest {
        rest = ObserverList.next(node)
        ObserverList.setNext(node, nil)
        let isSole = isFirst && rest == nil
        isFirst = false
        let isHandedOver = node._withUnsafeGuaranteedRef { observer in
          handOver(observer, wanted: wanted, isSole: isSole, state)
        }
        if isHandedOver { node.release() } else { inPlace.append(node) }
      }
      // Observers that were attached while these were handed over.
      batch = cell.takeLateObservers()
    }
    inPlace.run(state)
  }

  /// Delivers a handler whose source has settled, or was replaced by a settled cell.
  static func deliver(_ handler: Handler, wanted: UInt64) {
    let state = ThreadState.current
    if !handOver(handler, wanted: wanted, isSole: false, state) {
      Trampoline.perform(handler, state)
    }
  }

  /// Hands `handler` over to its executor; false if it has none, or doesn't need it for this
  /// result.
  @inline(__always)
  private static func handOver(
    _ handler: Handler, wanted: UInt64, isSole: Bool,
    _ state: UnsafeMutablePointer<ThreadState>
  ) -> Bool {
    let marks = handler.marks
    guard marks & wanted != 0, let target = handler.target else { return false }
    target._withUnsafeGuaranteedRef { target in
      if marks & Cell.Mark.queueTarget != 0 {
        if marks & Cell.Mark.visit != 0 {
          QueueTurn.visit(handler, on: target)
        } else {
          QueueTurn.enqueue(handler, on: target, isSole: isSole, state)
        }
      } else {
        unsafeDowncast(target, to: Scheduler.self).enqueue(handler)
      }
    }
    return true
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
    Trampoline.drainBeforeBlocking(state)
  }

  /// Handlers to run in place, oldest first, linked by `next` as in the list of observers.
  private struct InPlaceList {
    private var oldest: Unmanaged<Handler>?
    private var newest: Unmanaged<Handler>?
    /// The list of the enclosing delivery on the thread's stack.
    private(set) var outer: UnsafeMutableRawPointer?

    init(_ oldest: Unmanaged<Handler>?) { self.oldest = oldest }

    var isEmpty: Bool { oldest == nil }

    /// Appends `node` and takes ownership of the reference to it.
    mutating func append(_ node: Unmanaged<Handler>) {
      if let newest { ObserverList.setNext(newest, node) } else { oldest = node }
      newest = node
    }

    mutating func popFirst() -> Unmanaged<Handler>? {
      guard let node = oldest else { return nil }
      oldest = ObserverList.next(node)
      if oldest == nil { newest = nil }
      ObserverList.setNext(node, nil)
      return node
    }

    @inline(__always)
    mutating func run(_ state: UnsafeMutablePointer<ThreadState>) {
      guard let first = oldest else { return }
      guard ObserverList.next(first) != nil else { return Self.run(first, isLast: true, state) }
      putLibraryFirst()
      // While one of them runs, a closure that is about to block can run the others; see
      // `runPendingInPlace`.
      withUnsafeMutablePointer(to: &self) { list in
        let outer = state.pointee.jobsOfCaller
        list.pointee.outer = outer
        state.pointee.jobsOfCaller = UnsafeMutableRawPointer(list)
        while let node = list.pointee.popFirst() {
          Self.run(node, isLast: list.pointee.isEmpty, state)
        }
        state.pointee.jobsOfCaller = outer
      }
    }

    /// Moves the handlers that call users' closures behind the others.
    private mutating func putLibraryFirst() {
      var (library, closures) = (InPlaceList(nil), InPlaceList(nil))
      while let node = popFirst() {
        if node._withUnsafeGuaranteedRef({ $0.callsClosureInPlace }) {
          closures.append(node)
        } else {
          library.append(node)
        }
      }
      if let first = closures.oldest { library.append(first) }
      (oldest, newest) = (library.oldest, closures.newest ?? library.newest)
    }

    @inline(__always)
    private static func run(
      _ node: Unmanaged<Handler>, isLast: Bool, _ state: UnsafeMutablePointer<ThreadState>
    ) {
      // While more of them wait, no turn may keep a job for itself: they could block until it has
      // run.
      if !isLast { state.pointee.closuresOnStack &+= 1 }
      node._withUnsafeGuaranteedRef { Trampoline.perform($0, state) }
      node.release()
      if !isLast { state.pointee.closuresOnStack &-= 1 }
    }
  }
}

extension Handler {
  /// Whether this handler calls a user's closure in place, rather than only passing a result on.
  fileprivate final var callsClosureInPlace: Bool {
    let marks = marks
    return marks & Mark.programInPlace != 0 && marks & Mark.wants != 0
  }
}

extension Cell {
  /// The mark of handlers whose closure receives this settled cell's result.
  final var wanted: UInt64 { Delivery.wanted(rejection) }

  /// Adds `handler` to the observers of this cell, or delivers it immediately if the cell has
  /// settled.
  ///
  /// - Complexity: O(1).
  @usableFromInline
  final func attach(_ handler: Handler) {
    if Instrumentation.isTracing { Instrumentation.noteAttachment(of: handler, to: self) }
    if !add(handler) { Delivery.deliver(handler, wanted: wanted) }
  }
}
