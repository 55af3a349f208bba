/// The promises that a bounded `all` has started, without their values.
///
/// It is separate from `ConcurrentWork` because code that is generic over the type of the values looks
/// types up at run time, which costs ten times as much as everything else here.
///
/// `@unchecked Sendable`: the state is behind a lock, and the rest is immutable.
@usableFromInline
class BoundedWork: @unchecked Sendable {
  private struct State {
    /// The observers of the pending promises, by index.
    var observers: [Int: WorkObserver] = [:]
    /// The number of pending promises; an observer is in the dictionary only once it is attached.
    var pending = 0
    var isClosed = false
    var isOver = false
    var room: (limit: Int, resolver: Resolver<Void>)?
    /// What takes the elements, if it can wait for one.
    var feeding: Promise<Void>?

    /// Ends the work, and returns what to do about it; nil if it is over already.
    mutating func end() -> Rest? {
      if isOver { return nil }
      defer {
        isOver = true
        room = nil
        observers = [:]
        feeding = nil
      }
      return Rest(room: room?.resolver, observers: observers, feeding: feeding)
    }
  }

  /// What is left when the work ends.
  private struct Rest {
    let room: Resolver<Void>?
    let observers: [Int: WorkObserver]
    let feeding: Promise<Void>?
  }

  private let cancelsRest: Bool
  private let state = Mutex(State())

  fileprivate init(cancelsRest: Bool) { self.cancelsRest = cancelsRest }

  // The result, of which only the subclass knows the type.
  fileprivate var resultCell: Cell { fatalError("overridden") }
  fileprivate func fulfillResult() { fatalError("overridden") }
  fileprivate func rejectResult(_ error: any Error) { fatalError("overridden") }
  fileprivate func abandonResult() { fatalError("overridden") }

  /// A promise that is fulfilled when fewer than `limit` promises are pending, and rejected when
  /// the work is over.
  @usableFromInline
  final func room(below limit: Int) -> Promise<Void> {
    state.withLock { state -> Promise<Void> in
      if state.isOver { return .rejected(CancellationError()) }
      if state.pending < limit { return .value(()) }
      let (promise, resolver) = Promise<Void>.withResolvers()
      state.room = (limit, resolver)
      return promise
    }
  }

  /// Whether fewer than `limit` promises are pending and the work isn't over.
  @usableFromInline
  final func hasRoom(below limit: Int) -> Bool {
    state.withLock { !$0.isOver && $0.pending < limit }
  }

  /// Attaches `observer` to `cell`, or only cancels `cell` if the work is over.
  @usableFromInline
  final func observe(_ cell: Cell, with observer: WorkObserver) {
    state.withLock { $0.pending += 1 }
    if Instrumentation.isTracing { observer.noteObserving(for: resultCell) }
    // Attached first: an observer can be removed only once it is in its place.
    cell.attach(observer)
    let isOver = state.withLock { state in
      if !state.isOver, !observer.isDone { state.observers[observer.index] = observer }
      return state.isOver
    }
    if isOver { observer.remove() }
  }

  /// Has the work cancel `feeding` when it ends: an element that is awaited then may never come.
  final func stopAtEnd(_ feeding: Promise<Void>) {
    let isOver = state.withLock { state in
      if !state.isOver { state.feeding = feeding }
      return state.isOver
    }
    if isOver { feeding.cancel() }
  }

  @usableFromInline
  final func close() {
    state.withLock { $0.isClosed = true }
    fulfillIfComplete()
  }

  @usableFromInline
  final func fail(_ error: any Error) { end(with: error, cancelling: cancelsRest) }

  /// Notes that the promise of `observer` is fulfilled; its value is in its place.
  @usableFromInline
  final func receiveValue(of observer: WorkObserver) {
    let room: Resolver<Void>? = state.withLock { state in
      state.observers[observer.index] = nil
      observer.isDone = true
      state.pending -= 1
      guard let room = state.room, state.pending < room.limit else { return nil }
      state.room = nil
      return room.resolver
    }
    room?.fulfill()
    fulfillIfComplete()
  }

  @usableFromInline
  final func receive(_ rejection: Rejection) {
    // Gives up if the promise was abandoned: one of the values will never be there.
    if rejection.isAbandonment {
      guard let rest = state.withLock({ $0.end() }) else { return }
      abandonResult()
      rest.room?.abandon()
      rest.feeding?.cancel()
    } else {
      rejection.markHandled()
      fail(rejection.error)
    }
  }

  private final func fulfillIfComplete() {
    let isComplete = state.withLock { state in
      guard state.isClosed, state.pending == 0, !state.isOver else { return false }
      state.isOver = true
      // It has taken all elements.
      state.feeding = nil
      return true
    }
    if isComplete { fulfillResult() }
  }

  fileprivate final func end(with error: any Error, cancelling: Bool) {
    guard let rest = state.withLock({ $0.end() }) else { return }
    rejectResult(error)
    rest.room?.reject(CancellationError())
    rest.feeding?.cancel()
    guard cancelling else { return }
    for (_, observer) in rest.observers.sorted(by: { $0.key < $1.key }) { observer.remove() }
  }
}

/// What a bounded `all` attaches to its promise number `index`.
///
/// `@unchecked Sendable`: as `Handler`; `isDone` is guarded by the lock of `work`, and `place` and
/// `isFilled` are written by the one call of this handler.
@usableFromInline
final class WorkObserver: Handler, @unchecked Sendable {
  @usableFromInline let work: BoundedWork
  @usableFromInline let index: Int
  /// The memory for the value, and for whether it's there.
  @usableFromInline let place: UnsafeMutableRawPointer
  @usableFromInline let isFilled: UnsafeMutablePointer<Bool>
  fileprivate var isDone = false

  @inlinable
  init(
    _ work: BoundedWork, index: Int, place: UnsafeMutableRawPointer,
    isFilled: UnsafeMutablePointer<Bool>, source: Cell,
    run: @escaping @Sendable (Handler, Cell) -> Void
  ) {
    self.work = work
    self.index = index
    self.place = place
    self.isFilled = isFilled
    super.init(
      input: Cell.Input.hearsAbandonment, source: source, target: nil, body: nil, run: run)
  }
}

/// The promises that a bounded `all` has started, and their values so far.
///
/// `@unchecked Sendable`: only the code that takes the elements, one call after the other, touches
/// `chunks` and `count`, until it has closed the work; then only the thread that finds all values in
/// their places does. Each place is written by one observer, before it takes the lock of `BoundedWork`.
@usableFromInline
final class ConcurrentWork<T: Sendable>: BoundedWork, @unchecked Sendable {
  @usableFromInline let result: Promise<[T]>
  private let resolver: Resolver<[T]>

  /// Memory for values, whose addresses don't change, and for whether they are there.
  ///
  /// Not memory for optional values, because unspecialized code looks up their type for each of them.
  @usableFromInline
  struct Chunk {
    @usableFromInline let values: UnsafeMutablePointer<T>
    @usableFromInline let isFilled: UnsafeMutablePointer<Bool>

    @inlinable static var size: Int { 64 }

    @inlinable
    init() {
      values = .allocate(capacity: Self.size)
      isFilled = .allocate(capacity: Self.size)
      isFilled.initialize(repeating: false, count: Self.size)
    }

    func deallocate() {
      for index in 0..<Self.size where isFilled[index] {
        (values + index).deinitialize(count: 1)
      }
      values.deallocate()
      isFilled.deallocate()
    }
  }

  @exclusivity(unchecked) @usableFromInline var chunks: [Chunk] = []
  @exclusivity(unchecked) @usableFromInline var count = 0

  @usableFromInline
  override init(cancelsRest: Bool) {
    (result, resolver) = Promise<[T]>.withResolvers()
    super.init(cancelsRest: cancelsRest)
    result.cell.onCancel { [weak self] in self?.end(with: CancellationError(), cancelling: true) }
  }

  deinit { for chunk in chunks { chunk.deallocate() } }

  @inlinable
  func add(_ promise: Promise<T>) {
    let offset = count % Chunk.size
    if offset == 0 { chunks.append(Chunk()) }
    let chunk = chunks[count / Chunk.size]
    let observer = WorkObserver(
      self, index: count, place: UnsafeMutableRawPointer(chunk.values + offset),
      isFilled: chunk.isFilled + offset, source: promise.cell
    ) { observer, source in
      let observer = unsafeDowncast(observer, to: WorkObserver.self)
      if let rejection = source.rejection {
        observer.work.receive(rejection)
      } else {
        observer.place.assumingMemoryBound(to: T.self).initialize(to: source.value(as: T.self))
        observer.isFilled.pointee = true
        observer.work.receiveValue(of: observer)
      }
    }
    count += 1
    observe(promise.cell, with: observer)
  }

  fileprivate override var resultCell: Cell { result.cell }

  fileprivate override func fulfillResult() {
    let values = [T](unsafeUninitializedCapacity: count) { buffer, initialized in
      guard let memory = buffer.baseAddress else { return }
      // Each place was filled by its observer.
      for chunk in chunks {
        let size = min(Chunk.size, count - initialized)
        (memory + initialized).moveInitialize(from: chunk.values, count: size)
        chunk.isFilled.update(repeating: false, count: size)
        initialized += size
      }
    }
    resolver.fulfill(values)
  }

  fileprivate override func rejectResult(_ error: any Error) { resolver.reject(error) }
  fileprivate override func abandonResult() { resolver.abandon() }
}
