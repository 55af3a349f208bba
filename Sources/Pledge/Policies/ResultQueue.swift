/// An input and, when its operation has ended, the result.
///
/// `@unchecked Sendable`: the stream hands it from the source to a worker, and from there to a reader,
/// one of which uses it at a time.
@_fixed_layout @usableFromInline
class ResultItem: @unchecked Sendable {
  @usableFromInline init() {}
}

/// The state of a stream of results: pure bookkeeping that calls no other code.
///
/// It isn't generic: in the methods of a generic type, each step looks up the metadata of its types.
struct ResultQueue: Sendable {
  typealias Reader = UnsafeContinuation<ResultItem?, any Error>

  /// What a worker does next.
  enum Step: Sendable {
    case run(ResultItem, index: Int)
    /// Take an input from the source.
    case pull
    case end
  }

  /// A reader, and what it reads.
  struct Reading: Sendable {
    let reader: Reader
    let result: Result<ResultItem?, any Error>

    func resume() { reader.resume(with: result) }
  }

  private let limit: Int
  private let bufferLimit: Int
  private let isOrdered: Bool

  /// The inputs that wait, those that were added and those taken from the source.
  private var inputs = Fifo<ResultItem>()
  /// The number of inputs that have started.
  private var startedCount = 0
  private var runningCount = 0
  /// Results in the order in which they will be read.
  private var unread = Fifo<ResultItem>()
  /// Results that wait for an earlier one, by index.
  private var early: [Int: ResultItem] = [:]
  /// The index of the next result that moves to `unread`, if they are ordered.
  private var nextIndex = 0
  private var readers = Fifo<Reader>()

  private var isPulling = false
  private var isSourceExhausted = false
  /// The error that ends the sequence, until it is read.
  private var failure: (any Error)?
  private var hasEnded = false

  /// The tasks of the workers; nil until the task is known.
  private var workers: [Int: Task<Void, Never>?] = [:]
  private var nextWorker = 0
  /// Whether a worker has been started that hasn't made its first step.
  private var hasNewWorker = false
  private var hasReader = false

  init(_ limit: Int, _ bufferLimit: Int?, _ isOrdered: Bool) {
    self.limit = limit
    let (double, isTooLarge) = limit.multipliedReportingOverflow(by: 2)
    self.bufferLimit = max(bufferLimit ?? (isTooLarge ? .max : double), 1)
    self.isOrdered = isOrdered
    if limit < 1 {
      failure = PromiseError.invalidArgument("`limit` must be at least 1, not \(limit).")
      isSourceExhausted = true
    }
  }

  // MARK: Inputs and results

  mutating func append(_ input: ResultItem) -> Bool {
    if hasEnded || limit < 1 { return false }
    inputs.append(input)
    return true
  }

  mutating func addReader(_ reader: Reader) {
    hasReader = true
    readers.append(reader)
  }

  /// Returns what readers that wait can read now.
  mutating func takeReadings() -> [Reading] {
    var readings: [Reading] = []
    while !readers.isEmpty {
      let result: Result<ResultItem?, any Error>
      if let element = unread.removeFirst() {
        result = .success(element)
      } else if !hasEnded, isBusy {
        break
      } else {
        hasEnded = true
        result = failure.map { .failure($0) } ?? .success(nil)
      }
      if let reader = readers.removeFirst() {
        readings.append(Reading(reader: reader, result: result))
      }
    }
    // Later reads return nil. The readings retain the error.
    if hasEnded, !readings.isEmpty { failure = nil }
    return readings
  }

  /// Whether further results can arrive without further inputs.
  private var isBusy: Bool {
    runningCount > 0 || isPulling || !isSourceExhausted || !inputs.isEmpty
  }

  // MARK: Workers

  /// Whether another operation can start.
  private var hasRoom: Bool {
    runningCount < limit && runningCount + unread.count + early.count < bufferLimit
  }

  private var hasWork: Bool {
    !hasEnded && hasReader && hasRoom && (!inputs.isEmpty || (!isSourceExhausted && !isPulling))
  }

  /// Returns the number of a worker to start, if there is work for one.
  mutating func addWorkerIfNeeded() -> Int? {
    guard hasWork, !hasNewWorker else { return nil }
    hasNewWorker = true
    defer { nextWorker += 1 }
    workers[nextWorker] = .some(nil)
    return nextWorker
  }

  /// Stores the task of a worker; returns whether it must be cancelled.
  mutating func note(_ task: Task<Void, Never>, of worker: Int) -> Bool {
    if workers.keys.contains(worker) { workers[worker] = task }
    return hasEnded
  }

  /// Returns the first step of a worker.
  mutating func firstStep(_ worker: Int) -> Step {
    hasNewWorker = false
    return step(worker)
  }

  /// Returns the next step of a worker that has run an operation.
  mutating func nextStep(_ worker: Int, afterRunning index: Int, _ item: ResultItem) -> Step {
    runningCount -= 1
    if hasEnded { return step(worker) }
    if isOrdered {
      early[index] = item
      while let next = early.removeValue(forKey: nextIndex) {
        unread.append(next)
        nextIndex += 1
      }
    } else {
      unread.append(item)
    }
    return step(worker)
  }

  /// Returns the next step of a worker that has taken an input.
  mutating func nextStep(_ worker: Int, afterPulling pulled: Result<ResultItem?, any Error>) -> Step
  {
    isPulling = false
    if !hasEnded {
      switch pulled {
      case .success(let input?): inputs.append(input)
      case .success(nil): isSourceExhausted = true
      case .failure(let error):
        isSourceExhausted = true
        failure = error
      }
    }
    return step(worker)
  }

  private mutating func step(_ worker: Int) -> Step {
    guard hasWork else {
      workers[worker] = nil
      return .end
    }
    if let input = inputs.removeFirst() {
      defer { startedCount += 1 }
      runningCount += 1
      return .run(input, index: startedCount)
    }
    isPulling = true
    return .pull
  }

  /// Ends the sequence, and returns what the caller must cancel, and release without the lock.
  mutating func end(with error: (any Error)?) -> (tasks: [Task<Void, Never>], rest: Self) {
    if !hasEnded, failure == nil { failure = error }
    hasEnded = true
    defer { (inputs, unread, early) = (Fifo(), Fifo(), [:]) }
    return (workers.values.compactMap(\.self), self)
  }
}
