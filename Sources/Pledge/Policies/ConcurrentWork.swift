/// The promises that a bounded `all` has started.
///
/// It isn't generic: in the methods of a generic type, each step looks up the metadata of its types.
/// Its closures know the type of the values, and are specialized in the caller.
@usableFromInline
final class ConcurrentWork: Sendable {
  private struct State {
    /// The number of promises so far.
    var count = 0
    /// The observers of the pending promises, by index; nil until one is attached.
    var pending: [Int: Handler?] = [:]
    var isClosed = false
    var isOver = false
    var room: (limit: Int, resolver: Resolver<Void>)?
    /// The promise of the loop that takes the elements.
    var feeding: Promise<Void>?

    /// Ends the work and returns the state before, of which the caller must settle, cancel, or remove
    /// what remains; nil if it was over.
    mutating func end() -> State? { isOver ? nil : exchange(&self, with: State(isOver: true)) }
  }

  private let result: Cell
  private let cancelsRest: Bool
  private let keep: @Sendable (Cell?, Int) -> Void
  private let succeed: @Sendable () -> Void
  private let state = Mutex(State())

  /// Creates work that settles `result`.
  ///
  /// - Parameters:
  ///   - keep: Stores the value of a fulfilled cell at an index, or makes room for it if the cell is
  ///     nil. It is called under the lock.
  ///   - succeed: Fulfills `result` with the stored values, which don't change anymore.
  @usableFromInline
  init(
    _ result: Cell, cancelsRest: Bool, keep: @escaping @Sendable (Cell?, Int) -> Void,
    succeed: @escaping @Sendable () -> Void
  ) {
    self.result = result
    self.cancelsRest = cancelsRest
    self.keep = keep
    self.succeed = succeed
    result.onCancel(producer: .inputs { [self] in pendingInputs }) { [weak self] in
      self?.end(cancelling: true) {}
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
    let (promise, awaited) = state.withLock { state -> (Promise<Void>, Cell?) in
      if state.isOver { return (.rejected(CancellationError()), nil) }
      if state.pending.count < limit { return (.value(()), nil) }
      let (promise, resolver) = Promise<Void>.withResolvers()
      state.room = (limit, resolver)
      if !Instrumentation.isTracing { return (promise, nil) }
      // Not lazily: that asks twice, and a promise can settle in between.
      let sources = state.pending.values.compactMap { $0?.pendingSource }
      return (promise, sources.first)
    }
    // Any of them: the wait is over when the first one has settled.
    if let awaited { promise.cell.noteAwaiting(awaited) }
    return promise
  }

  /// Returns whether fewer than `limit` promises are pending and the work isn't over.
  @usableFromInline
  func hasRoom(below limit: Int) -> Bool {
    state.withLock { !$0.isOver && $0.pending.count < limit }
  }

  /// Observes the cell of a promise, or cancels it if the work is over and it has no consumer.
  @usableFromInline
  func add(_ cell: Cell) {
    // No observer is needed, and nothing can wait for room that this promise would make.
    let hasValue = !Instrumentation.isTracing && cell.isSettled && !cell.isRejected
    let index: Int? = state.withLock { state in
      if state.isOver { return nil }
      let index = state.count
      keep(hasValue ? cell : nil, index)
      state.count += 1
      if !hasValue { state.pending[index] = .some(nil) }
      return index
    }
    if hasValue { return }
    guard let index else {
      cell.discard()
      return
    }
    let observer = Handler(.observer, of: cell, on: .inPlace, body: nil) { [self] _, source in
      receive(from: source, index: index)
    }
    if Instrumentation.isTracing { observer.noteObserving(for: result) }
    // Attached first, because an observer can be removed only after it is attached.
    cell.attach(observer)
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
  func fail(_ error: any Error) { fail { Rejection(error, origin: nil) } }

  /// Rejects the result, unless the work is over: then, no rejection is made, which would be reported.
  private func fail(_ rejection: () -> Rejection) {
    end(cancelling: cancelsRest) { result.reject(rejection()) }
  }

  /// Receives the result of a promise that has settled.
  private func receive(from cell: Cell, index: Int) {
    if let rejection = cell.rejection {
      rejection.markHandled()
      return rejection.isAbandonment ? abandon() : fail(rejection.passedOn)
    }
    let room: Resolver<Void>? = state.withLock { state in
      keep(cell, index)
      state.pending[index] = nil
      guard let room = state.room, state.pending.count < room.limit else { return nil }
      state.room = nil
      return room.resolver
    }
    room?.fulfill()
    fulfillIfComplete()
  }

  private func fulfillIfComplete() {
    // The loop that takes the elements has ended, and is released outside the lock.
    let rest = state.withLock { $0.isClosed && $0.pending.isEmpty ? $0.end() : nil }
    // Nothing is added or received anymore.
    if rest != nil { succeed() }
  }

  /// Abandons the result, because one of the values will never arrive.
  private func abandon() {
    guard let rest = state.withLock({ $0.end() }) else { return }
    result.abandon()
    rest.room?.resolver.abandon()
    rest.feeding?.cancel()
  }

  /// Ends the work: first, `settle` settles the result, unless its cancellation does.
  private func end(cancelling: Bool, _ settle: () -> Void) {
    guard let rest = state.withLock({ $0.end() }) else { return }
    settle()
    rest.room?.resolver.reject(CancellationError())
    rest.feeding?.cancel()
    guard cancelling else { return }
    for (_, observer) in rest.pending.sorted(by: { $0.key < $1.key }) {
      observer?.leave(.cancelled)
    }
  }
}

/// The values of a bounded `all` so far.
///
/// `@unchecked Sendable`: `values` is guarded by the lock of the work until that is complete; after
/// that, it doesn't change.
@_fixed_layout @usableFromInline
final class ConcurrentValues<T: Sendable>: @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline var values: [T?] = []

  @inlinable init() {}

  @inlinable
  func keep(_ cell: Cell?, at index: Int) {
    let value: T? = if let cell { cell.value(as: T.self) } else { nil }
    if index == values.count { values.append(value) } else { values[index] = value }
  }

  @inlinable var all: [T] { values.map { $0.unsafelyUnwrapped } }
}
