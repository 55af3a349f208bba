// A request to cancel starts at a promise and propagates to its source, and so on, as long as the
// source has no other consumer. Where it stops, a rejection with `CancellationError` starts and
// propagates down the chain like any other: every handler in between sees it, in the usual order.

extension Cell {
  /// Requests cancellation of this promise's producer.
  @usableFromInline
  final func cancel() {
    cancelWithoutNote()
    noteRemaining()
  }

  /// Like `cancel()`, for code that waits for this promise in any case.
  final func cancelWithoutNote() { continueCancelling(requestCancellation()) }

  /// Continues a cancellation that has marked this cell.
  ///
  /// It ends at a cell that another request has marked, which continues from there. However, the
  /// cells of a cycle wait for each other, and two requests can meet in it. At least one cell of a
  /// cycle adopts another: a request that marks such a cell follows marked cells, too, and if it
  /// returns to that cell, the cell stops waiting.
  final func continueCancelling(_ step: consuming CancellationStep) {
    var (cell, step) = (self, step)
    var adopter: Cell?
    while true {
      switch consume step {
      case .done:
        return
      case .producer(let hooks):
        CancelHooks.run(hooks, thenReject: cell)
        return
      case .source(let source, let wasMarked):
        if wasMarked {
          if adopter == nil { return }
        } else if cell.wasAdopting {
          adopter = cell
        }
        let handler = unsafeDowncast(cell, to: Handler.self)
        let isCycle = wasMarked && cell === adopter
        guard !isCycle, !handler.role.has(.uncancellable), let next = source.cancel(ifOnly: handler)
        else {
          // A marked cell keeps waiting if its source has another consumer only since then.
          if wasMarked, !isCycle { return }
          guard handler.role.contains(.cleanup) else {
            handler.leave(.cancelled)
            return
          }
          RemainingWork.note(.promise(source))
          handler.leave(.expired(.cancellation(of: [.promise(source)])))
          return
        }
        (cell, step) = (source, next)
      }
    }
  }

  /// Gives up this promise for a consumer that was never added: cancels it if it has no other one.
  final func discard() {
    guard let step = cancelIfUnconsumed() else { return }
    continueCancelling(step)
    noteRemaining()
  }

  /// Cancels this promise because user code called `cancel()` on it.
  @usableFromInline
  final func cancelByName() {
    if isSettled { return }
    Instrumentation.note(self, .cancellationRequested)
    cancel()
  }

  /// Records what settles this cell.
  final func noteProducer(_ producer: Producer) {
    _ = withCancelHooks { $0.producer = producer }
  }

  /// Registers `action` to be called when this promise is cancelled, and records what settles this
  /// cell, if that is known; calls it immediately if the promise was already cancelled.
  final func onCancel(producer: Producer? = nil, _ action: @escaping @Sendable () throws -> Void) {
    let result = withCancelHooks {
      $0.append(CleanUpAction(action))
      if let producer { $0.producer = producer }
    }
    if !result.added, result.isCancelled { try? action() }
  }
}

/// How a consumer stops waiting for its source.
@usableFromInline
enum Departure {
  /// It is cancelled. The source is cancelled, too, unless it has another consumer.
  case cancelled
  /// Like `cancelled`, but the consumer finds this rejection.
  case expired(Rejection)
  /// Like `expired`, but the source continues: they wait for each other.
  case inCycle(Rejection)
  /// It is never called; it has no promise. The source continues, and its error counts as handled.
  case keeping
}

extension Handler {
  /// Makes this handler stop waiting for its source.
  ///
  /// - Returns: False if the handler had already started.
  @usableFromInline @discardableResult
  final func leave(_ departure: Departure) -> Bool {
    var replacement = Self.cancelledCell
    var (isCancellation, keepsProducer) = (false, role.has(.uncancellable))
    switch departure {
    case .cancelled: isCancellation = true
    case .expired(let rejection): replacement = Root<Never>(rejection: rejection)
    case .inCycle(let rejection):
      replacement = Root<Never>(rejection: rejection)
      keepsProducer = true
    case .keeping: keepsProducer = true
    }
    guard let source = detach(finding: replacement, isCancellation: isCancellation) else {
      return false
    }
    let step = source.remove(self, keepsProducer: keepsProducer)
    if case .keeping = departure {
      Instrumentation.note(self, .withdrawn)
      // Started, so that it is never called.
      _ = start(isInPlace: false)?.release()
      // If it wasn't in the list, the source has settled.
      if step == nil { source.rejection?.markHandled() }
      return true
    }
    if let step {
      source.continueCancelling(step)
      source.noteRemaining()
    } else {
      source.forgoRejection()
    }
    // Last, because code that receives the error may rely on the cancellation.
    Delivery.deliver(self, replacement.rejection)
    return true
  }

  /// The cell that replaces the source of a cancelled handler.
  private static let cancelledCell: Cell = Root<Never>(rejection: Rejection.cancellation)
}

/// What settles a promise.
enum Producer {
  /// The handler of this source. If `callsClosure`, it has a closure for the source's value or error.
  case source(Cell, callsClosure: Bool)
  /// A timer, which is released with the hooks.
  case timer(AnyObject)
  /// A closure that runs on this target.
  case closure(HandlerTarget)
  /// The result of this cell, and nothing else.
  case cell(Cell)
  /// A combinator that waits for all of its inputs, and returns those that haven't settled.
  case inputs(@Sendable () -> [Cell])
}

/// The closures that notify the producer of a promise of cancellation.
///
/// `@unchecked Sendable`: guarded by the lock of the cell whose slot contains it, until one thread
/// takes it out of the slot and has exclusive access to it.
final class CancelHooks: Job, @unchecked Sendable {
  /// The first closure, stored separately because there is usually only one.
  @exclusivity(unchecked) private var first: CleanUpAction?
  @exclusivity(unchecked) private var others: [CleanUpAction] = []
  @exclusivity(unchecked) private var forwarders: [Handler] = []
  @exclusivity(unchecked) private var cell: Cell?
  @exclusivity(unchecked) var producer: Producer?

  func append(_ action: CleanUpAction) {
    if first == nil { first = action } else { others.append(action) }
  }

  /// Adds a handler that is removed when the promise is cancelled or settled.
  func append(_ forwarder: Handler) { forwarders.append(forwarder) }

  /// Notifies the producer and then rejects `cell`.
  static func run(_ hooks: CancelHooks?, thenReject cell: Cell) {
    guard let hooks else {
      cell.reject(.cancellation)
      return
    }
    hooks.cell = cell
    // Through the trampoline, which limits the nesting, as in a combinator of combinators.
    Trampoline.perform(hooks, ThreadState.current)
  }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    let work = RemainingWork.collect(state) {
      try? exchange(&first, with: nil)?.call()
      if !others.isEmpty { for action in exchange(&others, with: []) { try? action.call() } }
      if !forwarders.isEmpty {
        for forwarder in exchange(&forwarders, with: []) { forwarder.leave(.cancelled) }
      }
    }
    producer = nil
    guard let cell = exchange(&cell, with: nil) else { return }
    // What waits for this cell gets its rejection, and would retain itself.
    cell.reject(.cancellation(of: work.filter { !$0.waitsForCancellation }))
  }

  /// Releases the hooks of a promise that was not cancelled.
  static func discard(_ object: Unmanaged<AnyObject>) {
    let hooks = unsafeDowncast(object.takeRetainedValue(), to: CancelHooks.self)
    for forwarder in hooks.forwarders { forwarder.leave(.keeping) }
  }
}

extension Cell {
  /// Whether this promise has settled, and its cancellation has left nothing.
  final var hasEnded: Bool { isSettled && rejection?.remainingWork.isEmpty != false }

  /// Records this promise as work that the current cancellation leaves, if it was cancelled and
  /// hasn't ended: for example, a handler of it runs, or waits for its executor.
  fileprivate final func noteRemaining() {
    if ThreadState.current.pointee.remainingWork != nil, isCancelled, !hasEnded {
      RemainingWork.note(.promise(self))
    }
  }
}

extension RemainingWork {
  /// Whether this is a promise that waits for one whose hooks run now, or are about to: it will get the
  /// rejection that follows.
  fileprivate var waitsForCancellation: Bool {
    guard case .promise(let job) = self else { return false }
    return unsafeDowncast(job, to: Cell.self).depends(on: { !($0 is Handler) && $0.isCancelled })
  }

  /// Records work that the current cancellation leaves.
  static func note(_ work: RemainingWork) {
    ThreadState.current.pointee.remainingWork?.append(work)
  }

  /// Cancels `task`, as a part of the current cancellation, which leaves it.
  static func cancel(_ task: Task<Void, Never>) {
    task.cancel()
    note(.task(task))
  }

  /// Calls `cancel` and returns the work that it leaves, which an enclosing call returns, too.
  static func collect(
    _ state: UnsafeMutablePointer<ThreadState> = ThreadState.current, _ cancel: () -> Void
  ) -> [RemainingWork] {
    let outer = exchange(&state.pointee.remainingWork, with: [])
    cancel()
    let work = exchange(&state.pointee.remainingWork, with: outer) ?? []
    if !work.isEmpty { state.pointee.remainingWork?.append(contentsOf: work) }
    return work
  }
}
