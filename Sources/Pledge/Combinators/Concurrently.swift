extension Promise {
  /// Calls `transform` for each of `elements`, with at most `limit` promises pending at a time.
  ///
  /// Elements are taken lazily and in order, when fewer than `limit` promises are pending. The
  /// values are in the order of the elements. The first rejection, or throw, rejects the result;
  /// then no more elements are taken, and pending work continues, or is cancelled with
  /// `cancellingRest`. A `limit` of less than one rejects the result with
  /// ``PromiseError/invalidArgument(_:)``. Cancelling the result cancels what is pending and takes
  /// no more elements.
  ///
  /// **Execution.** `transform`, and the iterator of `elements`, run in the isolation in which
  /// `transform` was written, one call at a time.
  @inlinable
  public static func all<S: Sequence & Sendable, T: Sendable>(
    _ elements: S, concurrently limit: Int, cancellingRest: Bool = false,
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (S.Element) throws -> Promise<T>
  ) -> Promise<[T]> where Value == [T] {
    concurrently(
      elements, limit, cancellingRest, HandlerTarget(isolation: transform.isolation),
      Isolated(transform).assumingIsolated(as: (@Sendable (S.Element) throws -> Promise<T>).self))
  }

  /// Calls `transform` for each of `elements`, with at most `limit` promises pending at a time.
  ///
  /// See the form without `on:`. `transform` runs on `executor`.
  @inlinable @_disfavoredOverload
  public static func all<S: Sequence & Sendable, T: Sendable>(
    on executor: some PromiseExecutor, _ elements: S, concurrently limit: Int,
    cancellingRest: Bool = false,
    _ transform: @escaping @Sendable (S.Element) throws -> Promise<T>
  ) -> Promise<[T]> where Value == [T] {
    concurrently(elements, limit, cancellingRest, HandlerTarget(executor), transform)
  }

  /// Calls `transform` for each of `elements`, with at most `limit` guarantees, or promises of another
  /// module, pending.
  ///
  /// See the form for promises.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @inlinable @_disfavoredOverload
  public static func all<S: Sequence & Sendable, T: Thenable>(
    _ elements: S, concurrently limit: Int, cancellingRest: Bool = false,
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (S.Element) throws -> T
  ) -> Promise<[T.Value]> where Value == [T.Value] {
    let target = HandlerTarget(isolation: transform.isolation)
    let body = Isolated(transform).assumingIsolated(as: (@Sendable (S.Element) throws -> T).self)
    return concurrently(elements, limit, cancellingRest, target) { try body($0).source }
  }

  /// Calls `transform`, on the main actor, for each of `elements`, with at most `limit` promises
  /// pending at a time.
  ///
  /// See the form without `on:`.
  @inlinable
  public static func all<S: Sequence & Sendable, T: Sendable>(
    on executor: MainExecutor, _ elements: S, concurrently limit: Int,
    cancellingRest: Bool = false,
    _ transform: @escaping @MainActor @Sendable (S.Element) throws -> Promise<T>
  ) -> Promise<[T]> where Value == [T] {
    all(elements, concurrently: limit, cancellingRest: cancellingRest, transform)
  }

  /// Calls an asynchronous `transform` for each of `elements`, with at most `limit` calls in progress
  /// at a time.
  ///
  /// See the form whose closure returns a promise.
  ///
  /// **Execution.** Each call runs in its own task, in the isolation in which `transform` was
  /// written.
  @_disfavoredOverload
  public static func all<S: Sequence & Sendable, T: Sendable>(
    _ elements: S, concurrently limit: Int, cancellingRest: Bool = false,
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (S.Element) async throws -> T
  ) -> Promise<[T]> where Value == [T], S.Element: Sendable {
    concurrently(
      elements, limit, cancellingRest, HandlerTarget(GlobalExecutor.global),
      startingTasks(transform))
  }

  /// Calls `transform` for each of `elements` as they arrive, with at most `limit` promises
  /// pending.
  ///
  /// Otherwise, the same as for sequences. The next element is awaited only when fewer than `limit`
  /// promises are pending.
  public static func all<S: AsyncSequence & Sendable, T: Sendable>(
    _ elements: S, concurrently limit: Int, cancellingRest: Bool = false,
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (S.Element) throws -> Promise<T>
  ) -> Promise<[T]> where Value == [T], S.Element: Sendable {
    concurrently(
      arriving: elements, limit, cancellingRest, HandlerTarget(isolation: transform.isolation),
      Isolated(transform).assumingIsolated(as: (@Sendable (S.Element) throws -> Promise<T>).self))
  }

  private static func concurrently<S: AsyncSequence & Sendable, T: Sendable>(
    arriving elements: S, _ limit: Int, _ cancellingRest: Bool, _ target: HandlerTarget,
    _ transform: @escaping @Sendable (S.Element) throws -> Promise<T>
  ) -> Promise<[T]> where Value == [T], S.Element: Sendable {
    guard limit >= 1 else { return badLimit(limit) }
    let body = target.keeping(transform)
    let work = ConcurrentWork<T>(cancelsRest: cancellingRest)
    let feeding = Promise<Void> {
      for try await element in elements {
        let started = Promise<Void>.value(()).mapped(target) {
          work.add(Promise<T>.attempted { try body(element) })
        }
        try await started.value
        try await work.room(below: limit).value
      }
      work.close()
    }
    _ = feeding.caught(HandlerTarget(immediate: ())) { work.fail($0) }
    work.stopAtEnd(feeding)
    return work.result
  }

  /// Calls `transform` for each of `elements` as they arrive, with at most `limit` guarantees, or
  /// promises of another module, pending.
  ///
  /// See the form for promises.
  ///
  /// **Execution.** `transform` runs in the isolation in which it was written.
  @_disfavoredOverload
  public static func all<S: AsyncSequence & Sendable, T: Thenable>(
    _ elements: S, concurrently limit: Int, cancellingRest: Bool = false,
    @_inheritActorContext _ transform:
      @escaping @Sendable @isolated(any) (S.Element) throws -> T
  ) -> Promise<[T.Value]> where Value == [T.Value], S.Element: Sendable {
    let target = HandlerTarget(isolation: transform.isolation)
    let body = Isolated(transform).assumingIsolated(as: (@Sendable (S.Element) throws -> T).self)
    return concurrently(arriving: elements, limit, cancellingRest, target) { try body($0).source }
  }

  @usableFromInline
  static func badLimit<T>(_ limit: Int) -> Promise<[T]> where Value == [T] {
    .rejected(
      PromiseError.invalidArgument("`concurrently:` must be at least 1, not \(limit)."))
  }

  @inlinable
  static func concurrently<S: Sequence & Sendable, T: Sendable>(
    _ elements: S, _ limit: Int, _ cancellingRest: Bool, _ target: HandlerTarget,
    _ transform: @escaping @Sendable (S.Element) throws -> Promise<T>
  ) -> Promise<[T]> where Value == [T] {
    guard limit >= 1 else { return badLimit(limit) }
    let work = ConcurrentWork<T>(cancelsRest: cancellingRest)
    let iterator = SerialIterator(elements.makeIterator())
    // One visit of the executor an element: take it, start it, and come back when there is room.
    @Sendable func startNext() -> Promise<Void> {
      work.room(below: limit).chained(target) { _ in
        guard let element = iterator.next() else {
          work.close()
          return .value(())
        }
        work.add(Promise<T>.attempted { try transform(element) })
        return startNext()
      }
    }
    let feeding = startNext()
    _ = feeding.caught(HandlerTarget(immediate: ())) { work.fail($0) }
    work.stopAtEnd(feeding)
    return work.result
  }
}

/// An iterator that is used by one visit of an executor after the other.
///
/// `@unchecked Sendable`: the next visit starts only when the one before has ended.
@usableFromInline
final class SerialIterator<Iterator: IteratorProtocol>: @unchecked Sendable {
  @usableFromInline var iterator: Iterator
  @inlinable init(_ iterator: Iterator) { self.iterator = iterator }
  @inlinable func next() -> Iterator.Element? { iterator.next() }
}

/// The promises that a bounded `all` has started, except for their values.
///
/// Not generic: in the methods of a generic type, each access to such a state would look up the
/// metadata of all its parts.
private struct ConcurrentState {
  var pending: [Int: Cell] = [:]
  var isClosed = false
  var isOver = false
  var room: (limit: Int, resolver: Resolver<Void>)?
  /// What takes the elements.
  var feeding: Promise<Void>?

  /// Ends the work, and returns what to do about it.
  mutating func end() -> Rest {
    defer {
      isOver = true
      room = nil
      pending = [:]
      feeding = nil
    }
    return Rest(room: room?.resolver, pending: isOver ? [:] : pending, feeding: feeding)
  }

  /// What is left when the work ends.
  struct Rest {
    let room: Resolver<Void>?
    let pending: [Int: Cell]
    let feeding: Promise<Void>?
  }
}

/// The promises that a bounded `all` has started, and their values so far.
///
/// `@unchecked Sendable`: `values` is guarded by the lock of `state` until the work is complete; then it
/// doesn't change.
@usableFromInline
final class ConcurrentWork<T: Sendable>: Gathering, @unchecked Sendable {
  @usableFromInline let result: Promise<[T]>
  private let resolver: Resolver<[T]>
  private let cancelsRest: Bool
  private let state = Mutex(ConcurrentState())
  private var values: [T?] = []

  @usableFromInline
  init(cancelsRest: Bool) {
    self.cancelsRest = cancelsRest
    (result, resolver) = Promise<[T]>.withResolvers()
    result.cell.onCancel(producer: self) { [weak self] in
      self?.end(with: CancellationError(), cancelling: true)
    }
  }

  var needsEveryInput: Bool { true }

  func pendingInputs(limit: Int) -> [Cell]? {
    let (pending, feeding) = state.withLock { ($0.pending, $0.feeding) }
    guard pending.count < limit else { return nil }
    return (Array(pending.values) + [feeding?.cell].compactMap { $0 }).filter { !$0.isSettled }
  }

  /// A promise that is fulfilled when fewer than `limit` promises are pending, and rejected when
  /// the work is over.
  @usableFromInline
  func room(below limit: Int) -> Promise<Void> {
    let (promise, resolver) = Promise<Void>.withResolvers()
    let isOver: Bool? = state.withLock { state in
      if state.isOver { return true }
      if state.pending.count >= limit {
        state.room = (limit, resolver)
        return nil
      }
      return false
    }
    switch isOver {
    case true?: resolver.reject(CancellationError())
    case false?: resolver.fulfill()
    case nil: break
    }
    return promise
  }

  @usableFromInline
  func add(_ shared: Promise<T>) {
    // A promise of our own, so that cancelling it spares the one of others.
    let promise = shared.mapped(HandlerTarget(immediate: ())) { $0 }
    let index: Int? = state.withLock { state in
      guard !state.isOver else { return nil }
      let index = values.count
      values.append(nil)
      state.pending[index] = promise.cell
      return index
    }
    guard let index else {
      promise.cancel()
      return
    }
    Promise.onEnd(of: promise) { [self] in receive(from: promise.cell, index: index) }
      .cauterize()
  }

  /// Has the work cancel `feeding` when it ends: an element that is awaited then may never come, and
  /// none that is available is taken.
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
  func fail(_ error: any Error) { end(with: error, cancelling: cancelsRest) }

  /// Receives the result of a promise that has ended.
  private func receive(from cell: Cell, index: Int) {
    if let rejection = cell.rejection {
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
    let isComplete = state.withLock { state in
      guard state.isClosed, state.pending.isEmpty, !state.isOver else { return false }
      state.isOver = true
      // It has taken all elements.
      state.feeding = nil
      return true
    }
    // Nothing is added or received anymore.
    if isComplete { resolver.fulfill(values.compactMap { $0 }) }
  }

  /// Gives up: one of the values will never be there.
  private func abandon() {
    let rest = state.withLock { $0.end() }
    resolver.abandon()
    rest.room?.abandon()
    rest.feeding?.cancel()
  }

  private func end(with error: any Error, cancelling: Bool) {
    let rest = state.withLock { $0.end() }
    resolver.reject(error)
    rest.room?.reject(CancellationError())
    rest.feeding?.cancel()
    if cancelling { for (_, cell) in rest.pending { cell.cancelByName() } }
  }
}
