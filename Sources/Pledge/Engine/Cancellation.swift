// A request to cancel starts at a promise and propagates to its source, and so on, as long as the
// source has no other consumer. Where it stops, a rejection with `CancellationError` starts and
// propagates down the chain like any other: every handler in between sees it, in the usual order.

extension Cell {
  /// Requests cancellation of this promise's producer.
  @usableFromInline
  final func cancel() {
    var cell = self
    var steps = 0
    while true {
      switch cell.requestCancellation() {
      case .done:
        return
      case .producer(let hooks):
        CancelHooks.run(hooks, thenReject: cell)
        return
      case .source(let source, let isUncancellable):
        let handler = unsafeDowncast(cell, to: Handler.self)
        let removal = source.remove(
          handler, keepsProducer: isUncancellable, unlessOnly: !isUncancellable)
        switch removal {
        case .isOnly:
          cell = source
          steps += 1
          if steps == SharedThread.slice, ThreadState.current.pointee.isShared {
            return SharedThread.runUserCode { source.cancel() }
          }
        case .removed, .removedLast:
          handler.cancelAlone()
          return
        case .notListed:
          // The source has settled, or the handler was already removed.
          handler.cancelAlone()?.noteUnheard()
          return
        }
      }
    }
  }

  /// Cancels this promise because user code called `cancel()` on it.
  @usableFromInline
  final func cancelByName() {
    if isSettled { return }
    Instrumentation.note(self, .cancellationRequested)
    cancel()
  }

  /// Requests cancellation of the producer if this promise has no consumer.
  final func cancelIfUnconsumed() {
    if isUnconsumed { cancel() }
  }

  /// Records what settles this cell: see ``CancelHooks/producer``.
  final func noteProducer(_ producer: AnyObject?) {
    _ = withCancelHooks { $0.producer = producer }
  }

  /// Registers `handler` to be called when this promise is cancelled; calls it immediately if the
  /// promise was already cancelled.
  @usableFromInline
  final func onCancel(_ handler: @escaping @Sendable () -> Void) {
    onCancel(producer: nil, handler)
  }

  /// Does what `onCancel(_:)` does and, unless `producer` is nil, `noteProducer(_:)`, in one step.
  final func onCancel(producer: AnyObject?, _ handler: @escaping @Sendable () -> Void) {
    let result = withCancelHooks {
      $0.append(handler)
      if let producer { $0.producer = producer }
    }
    if !result.added, result.isCancelled { handler() }
  }
}

/// What happens to a source when one of its observers is removed.
@usableFromInline
enum Departure {
  /// It is cancelled, unless it has another consumer.
  case cancelling
  /// It continues, and its error counts as handled.
  case keeping
}

extension Handler {
  /// Replaces this handler's source with `replacement`, a settled cell, and removes the handler
  /// from the source's observers.
  ///
  /// - Returns: False if the handler had already started.
  @usableFromInline @discardableResult
  final func remove(
    finding replacement: Cell = Cancellation.cancelledCell
  ) -> Bool {
    let isCancellation = replacement === Cancellation.cancelledCell
    guard let source = detach(finding: replacement, isCancellation: isCancellation) else {
      return false
    }
    switch source.remove(self) {
    case .notListed: source.noteUnheard()
    case .removedLast: source.cancel()
    case .removed, .isOnly: break
    }
    // It can settle at any time, and this can be the last reference to its value.
    SharedThread.release(source)
    // Last, because code that receives the error may rely on the cancellation.
    Delivery.deliver(self, wanted: Mark.wantsRejection)
    return true
  }

  /// Removes this handler, which has no promise, from the source's observers without calling it;
  /// the source continues, and its error counts as handled.
  final func removeKeeping() {
    guard let source = detach(finding: Cancellation.cancelledCell, isCancellation: false) else {
      return
    }
    Instrumentation.note(self, .withdrawn)
    // Started, so that it is never called.
    _ = start(isInPlace: false, hasTarget: false)?.release()
    if case .notListed = source.remove(self, keepsProducer: true) { source.keep() }
  }

  /// Cancels this handler, but not its source, which it no longer observes.
  ///
  /// - Returns: The source, or nil if the handler had already started.
  @discardableResult
  fileprivate final func cancelAlone() -> Cell? {
    guard let source = detach(finding: Cancellation.cancelledCell, isCancellation: true) else {
      return nil
    }
    Delivery.deliver(self, wanted: Mark.wantsRejection)
    return source
  }
}

extension Cell {
  /// Marks this settled cell's rejection as handled if it has no consumer: the promise that was to
  /// adopt it was cancelled.
  @usableFromInline
  final func noteUnwanted() {
    if !hadConsumer { rejection?.markHandled() }
  }

  /// Marks this cell's rejection as handled if its only consumer, to which it was being delivered,
  /// received another result.
  fileprivate final func noteUnheard() {
    if isSettled, !hadManyConsumers { rejection?.markHandled() }
  }
}

/// The cell that replaces the source of a cancelled handler.
@usableFromInline
enum Cancellation {
  @usableFromInline static let cancelledCell: Cell = Root<Never?>(
    rejection: Rejection.cancellation)
}

/// The closures that notify the producer of a promise of cancellation.
///
/// `@unchecked Sendable`: guarded by the lock of the cell whose slot contains it, until one thread
/// takes it out of the slot and has exclusive access to it.
final class CancelHooks: Job, @unchecked Sendable {
  /// The first closure, stored separately because there is usually only one.
  @exclusivity(unchecked) private var first: (@Sendable () -> Void)?
  @exclusivity(unchecked) private var others: [@Sendable () -> Void] = []
  @exclusivity(unchecked) private var forwarders: [Handler] = []
  @exclusivity(unchecked) private var cell: Cell?
  /// What settles the promise, for the deadlock check of `wait()`: the scheduler or queue that its
  /// producer's closure needs, the `CombinatorInputs` of its combinator, or the cell whose result
  /// it receives, if nothing else settles it; or the timer, which is removed with the hooks.
  @exclusivity(unchecked) var producer: AnyObject?

  func append(_ handler: @escaping @Sendable () -> Void) {
    if first == nil { first = handler } else { others.append(handler) }
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

  override var callsProgramInPlace: Bool { true }

  override func perform(_ state: UnsafeMutablePointer<ThreadState>, isInPlace: Bool) {
    exchange(&first, with: nil)?()
    if !others.isEmpty { for handler in exchange(&others, with: []) { handler() } }
    if !forwarders.isEmpty {
      for forwarder in exchange(&forwarders, with: []) { forwarder.remove() }
    }
    producer = nil
    exchange(&cell, with: nil)?.reject(.cancellation)
  }

  /// Releases the hooks of a promise that was not cancelled.
  static func discard(_ object: Unmanaged<AnyObject>) {
    let hooks = unsafeDowncast(object.takeRetainedValue(), to: CancelHooks.self)
    for forwarder in hooks.forwarders { forwarder.removeKeeping() }
    if hooks.first == nil, hooks.producer is TimerHeap.Timer { return }
    SharedThread.release(hooks)
  }
}
