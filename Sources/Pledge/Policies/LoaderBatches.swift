/// The batches of a loader.
///
/// A batch is waiting, loading, or ended. It ends early when all its requests have been cancelled.
/// The coalescer in front of it passes on one request for each key; only after a key was cancelled
/// or removed can a batch contain it twice.
final class LoaderBatches<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Results = [Key: Result<Value, any Error>]
  typealias Load = @Sendable @isolated(any) ([Key]) async throws -> Results

  /// The batch that collects keys, and the batches that are loading.
  private struct State {
    var waiting: Batch?
    var loading: [Batch] = []

    mutating func stopWaiting() -> Batch? {
      guard let batch = exchange(&waiting, with: nil) else { return nil }
      loading.append(batch)
      return batch
    }

    mutating func remove(_ batch: Batch) {
      if waiting === batch { waiting = nil }
      if let index = loading.firstIndex(where: { $0 === batch }) {
        loading.swapAt(index, loading.count - 1)
        loading.removeLast()
      }
    }
  }

  let monitors = Monitors<LoaderEvent>()
  private let state = Mutex(State())
  private let maximum: Int?
  private let delay: TimeSpan
  private let time: TimeSource
  private let load: IsolatedOperation<[Key], Results>

  init(_ maximum: Int?, _ delay: TimeSpan, _ time: TimeSource, _ load: @escaping Load) {
    self.maximum = maximum
    self.delay = delay
    self.time = time
    self.load = IsolatedOperation(load)
  }

  // MARK: Requests

  /// Returns a promise for the value for `key`, which the next batch loads.
  func promise(for key: Key, in isolation: (any Actor)?) -> Promise<Value> {
    if let maximum, maximum < 1 {
      return .rejected(
        PromiseError.invalidArgument("`maxBatchSize` must be at least 1, not \(maximum)."))
    }
    let (promise, resolver) = Promise<Value>.withResolvers()
    let priority = TaskPriority.current
    let fresh = Batch(CoalescedWork(in: .current))
    let (batch, number, isFull) = state.withLock { state -> (Batch, Int, Bool) in
      let batch = state.waiting ?? fresh
      state.waiting = batch
      let number = batch.add(key, resolver, priority)
      let isFull = batch.requestCount == maximum
      if isFull { _ = state.stopWaiting() }
      return (batch, number, isFull)
    }
    promise.cell.noteAwaiting(.batch)
    promise.cell.onCancel { [self] in withdraw(number, from: batch) }
    if isFull {
      start(batch)
    } else if batch === fresh {
      schedule(batch, in: isolation)
    }
    return load.settling(promise)
  }

  /// Returns whether the current task is part of a batch that loads `key`.
  func isLoading(_ key: Key) -> Bool {
    if CoalescedWork.current === CoalescedWork.none { return false }
    let batches = state.withLock { $0.loading.filter(\.work.isCurrent) }
    return batches.contains { batch in state.withLock { _ in batch.keys }.contains(key) }
  }

  private func withdraw(_ number: Int, from batch: Batch) {
    // Keys are released without the lock.
    let (request, timer, task) = state.withLock { state in
      let request = batch.requests.removeValue(forKey: number)
      guard request != nil, batch.requests.isEmpty else {
        return (request, nil as AnyObject?, nil as Task<Void, Never>?)
      }
      state.remove(batch)
      let rest = batch.end()
      return (request, rest.timer, rest.task)
    }
    withExtendedLifetime((request, timer)) {}
    task.map(RemainingWork.cancel)
  }

  // MARK: Batches

  /// Starts `batch`, which has its first key, after the delay.
  private func schedule(_ batch: Batch, in isolation: (any Actor)?) {
    if delay == .infinite { return }
    guard delay > .zero else {
      return HandlerTarget.ofTurn(isolation).schedule(ClosureJob { [self] in close(batch) })
    }
    // The timer, the batch, and the closure retain each other until one of the first two ends.
    let timer = time.startTimer(after: delay) { [self] in close(batch) }
    state.withLock { state in if state.waiting === batch { batch.timer = timer } }
  }

  private func close(_ batch: Batch) {
    let isWaiting = state.withLock { $0.waiting === batch && $0.stopWaiting() != nil }
    if isWaiting { start(batch) }
  }

  /// Starts the batch that waits for keys, if any.
  func startWaiting() {
    if let batch = state.withLock({ $0.stopWaiting() }) { start(batch) }
  }

  private func start(_ batch: Batch) {
    let timer = state.withLock { _ in
      // Created under the lock, so that a thread that withdraws the last request finds the task, or
      // there is none.
      if !batch.hasEnded {
        batch.task = Task.detached(priority: batch.priority) { [self] in
          await batch.work.run { await run(batch) }
        }
      }
      return exchange(&batch.timer, with: nil)
    }
    withExtendedLifetime(timer) {}
    if Instrumentation.isTracing {
      for request in state.withLock({ _ in batch.requests.values }) {
        request.resolver.cell.noteAwaiting(.operation)
      }
    }
  }

  private func run(_ batch: Batch) async {
    let requested = state.withLock { _ in
      batch.requests.sorted { $0.key < $1.key }.map(\.value.key)
    }
    var unique = Set<Key>()
    let keys = requested.filter { unique.insert($0).inserted }
    if keys.isEmpty { return }
    state.withLock { [unique] _ in batch.keys = unique }
    monitors.note(.started(keys: keys.count))
    let results: Result<Results, any Error>
    do {
      results = try await .success(load(keys))
    } catch {
      results = .failure(error)
      monitors.note(.failed)
    }
    settle(batch, keys, unique, results)
  }

  /// Settles the requests of `batch` that remain.
  private func settle(
    _ batch: Batch, _ keys: [Key], _ unique: Set<Key>, _ results: Result<Results, any Error>
  ) {
    // First the end of the batch, because a caller that receives a value can request the next one.
    batch.work.end()
    let requests = state.withLock { state in
      state.remove(batch)
      defer { _ = batch.end() }
      return exchange(&batch.requests, with: [:])
    }
    let inOrder = requests.sorted { $0.key < $1.key }.map(\.value)
    switch results {
    case .failure(let error): for request in inOrder { request.reject(error) }
    case .success(let results):
      let mismatch = mismatch(keys, unique, results)
      if mismatch != nil { monitors.note(.mismatched) }
      for request in inOrder {
        if let mismatch, !mismatch.unexpectedKeys.isEmpty {
          request.reject(mismatch)
          continue
        }
        switch results[request.key] {
        case .success(let value): request.resolver.fulfill(value)
        case .failure(let error): request.reject(error)
        case nil: if let mismatch { request.reject(mismatch) }
        }
      }
    }
  }

  private func mismatch(
    _ keys: [Key], _ unique: Set<Key>, _ results: Results
  ) -> BatchMismatchError? {
    let missing = keys.filter { results[$0] == nil }
    let known = keys.count - missing.count
    let unexpected = results.count == known ? [] : results.keys.filter { !unique.contains($0) }
    if missing.isEmpty, unexpected.isEmpty { return nil }
    return BatchMismatchError(missingKeys: missing, unexpectedKeys: unexpected)
  }

  // MARK: -

  /// One batch.
  ///
  /// `@unchecked Sendable`: `work` is immutable; the rest is guarded by the lock of the loader, and
  /// `priority` doesn't change anymore when the batch has started.
  private final class Batch: @unchecked Sendable {
    struct Request {
      let key: Key
      let resolver: Resolver<Value>

      /// Rejects the promise, with a rejection that doesn't name this file as its origin.
      func reject(_ error: any Error) { resolver.cell.reject(Rejection(error, origin: nil)) }
    }

    let work: CoalescedWork
    /// The requests that haven't been cancelled, by the order in which they were made.
    var requests: [Int: Request] = [:]
    private var nextNumber = 0
    /// The highest priority of the callers.
    private(set) var priority = TaskPriority.background
    /// The keys, when the batch loads them.
    var keys: Set<Key> = []
    var timer: AnyObject?
    var task: Task<Void, Never>?
    private(set) var hasEnded = false

    init(_ work: CoalescedWork) { self.work = work }

    var requestCount: Int { requests.count }

    func add(_ key: Key, _ resolver: Resolver<Value>, _ priority: TaskPriority) -> Int {
      requests[nextNumber] = Request(key: key, resolver: resolver)
      self.priority = max(self.priority, priority)
      defer { nextNumber += 1 }
      return nextNumber
    }

    /// Ends the batch, and returns what the caller must release without the lock or cancel.
    func end() -> (timer: AnyObject?, task: Task<Void, Never>?) {
      hasEnded = true
      defer { (timer, task) = (nil, nil) }
      return (timer, task)
    }
  }
}
