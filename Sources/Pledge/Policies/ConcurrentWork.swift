/// The promises that a bounded `all` has started, and their values so far.
///
/// `@unchecked Sendable`: `values` is guarded by the lock of `state` until the work is complete;
/// after that, it doesn't change.
@usableFromInline
final class ConcurrentWork<T: Sendable>: @unchecked Sendable {
  @usableFromInline let result: Promise<[T]>
  private let resolver: Resolver<[T]>
  private let cancelsRest: Bool
  private let state = Mutex(ConcurrentState())
  @exclusivity(unchecked) private var values: [T?] = []

  @usableFromInline
  init(cancelsRest: Bool) {
    self.cancelsRest = cancelsRest
    (result, resolver) = Promise<[T]>.withResolvers()
    result.cell.onCancel(producer: .inputs { [self] in pendingInputs }) { [weak self] in
      self?.end(cancelling: true) { _ in }
    }
  }

  var pendingInputs: [Cell] {
    let (observers, feeding) = state.withLock { ($0.pending.values.compactMap { $0 }, $0.feeding) }
    return observers.compactMap(\.pendingSource) + [feeding?.cell].compactMap { $0 }
  }

  /// Returns a promise that is fulfilled when fewer than `limit` promises are pending, and rejected
  /// when the work is over.
  @usableFromInline
  func room(below limit: Int) -> Promise<Void> {
    state.withLock { state in
      if state.isOver { return .rejected(CancellationError()) }
      if state.pending.count < limit { return .value(()) }
      let (promise, resolver) = Promise<Void>.withResolvers()
      state.room = (limit, resolver)
      return promise
    }
  }

  /// Returns whether fewer than `limit` promises are pending and the work isn't over.
  @usableFromInline
  func hasRoom(below limit: Int) -> Bool {
    state.withLock { !$0.isOver && $0.pending.count < limit }
  }

  /// Observes a promise, or cancels it if the work is over and it has no consumer.
  @usableFromInline
  func add(_ promise: Promise<T>) {
    if !Instrumentation.isTracing, promise.cell.isSettled, !promise.cell.isRejected {
      // No observer is needed, and nothing can wait for room that this promise would make.
      let value: T = promise.cell.value(as: T.self)
      return state.withLock { state in if !state.isOver { values.append(value) } }
    }
    let index: Int? = state.withLock { state in
      if state.isOver { return nil }
      let index = values.count
      values.append(nil)
      state.pending[index] = .some(nil)
      return index
    }
    guard let index else { return promise.cell.discard() }
    let observer = Handler(.observer, of: promise.cell, on: .inPlace, body: nil) {
      [self] _, source in receive(from: source, index: index)
    }
    if Instrumentation.isTracing { observer.noteObserving(for: result.cell) }
    // Attached first, because an observer can be removed only after it is attached.
    promise.cell.attach(observer)
    let isOver = state.withLock { state in
      if state.pending.keys.contains(index) { state.pending[index] = observer }
      return state.isOver
    }
    if isOver, cancelsRest || result.isCancelled { observer.leave(.cancelled) }
  }

  /// Cancels `feeding` when the work ends, because an awaited element might never arrive, and no
  /// further elements are taken.
  @usableFromInline
  func stopAtEnd(_ feeding: Promise<Void>) {
    let isOver = state.withLock { state in
      if !state.isOver { state.feeding = feeding }
      return state.isOver
    }
    if isOver { feeding.cancel() }
  }

  @usableFromInline
  func close() {
    state.withLock { $0.isClosed = true }
    fulfillIfComplete()
  }

  @usableFromInline
  func fail(_ error: any Error) { end(cancelling: cancelsRest) { $0.reject(error) } }

  /// Receives the result of a promise that has settled.
  private func receive(from cell: Cell, index: Int) {
    if let rejection = cell.rejection {
      rejection.markHandled()
      return rejection.isAbandonment ? abandon() : fail(rejection.error)
    }
    let room: Resolver<Void>? = state.withLock { state in
      values[index] = cell.value(as: T.self)
      state.pending[index] = nil
      guard let room = state.room, state.pending.count < room.limit else { return nil }
      state.room = nil
      return room.resolver
    }
    room?.fulfill()
    fulfillIfComplete()
  }

  private func fulfillIfComplete() {
    let (isComplete, feeding): (Bool, Promise<Void>?) = state.withLock { state in
      guard state.isClosed, state.pending.isEmpty, !state.isOver else { return (false, nil) }
      state.isOver = true
      // It has taken all elements, and is released outside the lock.
      return (true, exchange(&state.feeding, with: nil))
    }
    // Nothing is added or received anymore.
    if isComplete { resolver.fulfill(values.compactMap { $0 }) }
    withExtendedLifetime(feeding) {}
  }

  /// Abandons the result, because one of the values will never arrive.
  private func abandon() {
    guard let rest = state.withLock({ $0.end() }) else { return }
    resolver.abandon()
    rest.room?.abandon()
    rest.feeding?.cancel()
  }

  /// Ends the work: first, `settle` settles the result, unless its cancellation does.
  private func end(cancelling: Bool, _ settle: (Resolver<[T]>) -> Void) {
    guard let rest = state.withLock({ $0.end() }) else { return }
    settle(resolver)
    rest.room?.reject(CancellationError())
    rest.feeding?.cancel()
    guard cancelling else { return }
    for (_, observer) in rest.pending.sorted(by: { $0.key < $1.key }) {
      observer?.leave(.cancelled)
    }
  }
}

/// The state of a bounded `all`, except for the values.
///
/// This isn't generic, because in the methods of a generic type, each access to a generic state
/// looks up the metadata of all its parts.
private struct ConcurrentState {
  /// The observers of the pending promises, by index; nil until one is attached.
  var pending: [Int: Handler?] = [:]
  var isClosed = false
  var isOver = false
  var room: (limit: Int, resolver: Resolver<Void>)?
  /// The promise of the loop that takes the elements.
  var feeding: Promise<Void>?

  /// Ends the work and returns what the caller must settle, cancel, or remove; nil if it was over.
  mutating func end() -> Rest? {
    if isOver { return nil }
    defer {
      isOver = true
      room = nil
      pending = [:]
      feeding = nil
    }
    return Rest(room: room?.resolver, pending: pending, feeding: feeding)
  }

  /// What remains when the work ends.
  struct Rest {
    let room: Resolver<Void>?
    let pending: [Int: Handler?]
    let feeding: Promise<Void>?
  }
}
