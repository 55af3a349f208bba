// What all files of this target import.
@_exported import Foundation
@_exported import Pledge
@_exported import PledgeTesting
@_exported import Testing

struct Boom: Error, Hashable { var code = 0 }

struct OtherError: Error, Hashable {}

/// An object that isn't `Sendable`.
final class Parser { var calls = 0 }

/// A request, which a task-local value identifies.
enum Request { @TaskLocal static var id = 0 }

/// When a promise settles, relative to the call of the operator.
enum When: CaseIterable, CustomStringConvertible {
  /// Before the operator is called.
  case already
  /// Right after, on the same thread.
  case immediately
  /// After, on another thread.
  case later

  var description: String {
    switch self {
    case .already: "already settled"
    case .immediately: "settled immediately after"
    case .later: "settled later"
    }
  }

  /// Calls `body` with a promise that settles with `outcome` at the time that this case specifies.
  func settle<T: Sendable, R>(_ outcome: Result<T, any Error>, _ body: (Promise<T>) -> R) -> R {
    let (promise, resolver) = Promise<T>.withResolvers()
    if self == .already { resolver.resolve(outcome) }
    let result = body(promise)
    switch self {
    case .already: break
    case .immediately: resolver.resolve(outcome)
    case .later: DispatchQueue.global().async { resolver.resolve(outcome) }
    }
    return result
  }

  func fulfill<T: Sendable, R>(_ value: T, _ body: (Promise<T>) -> R) -> R {
    settle(.success(value), body)
  }

  func reject<R>(_ error: any Error = Boom(), _ body: (Promise<Int>) -> R) -> R {
    settle(.failure(error), body)
  }
}

/// An executor of every kind, and a check for whether code runs on it.
struct Place: Sendable, CustomStringConvertible {
  let description: String
  let executor: any PromiseExecutor
  let probe: ExecutorProbe

  static let immediate = Place(
    description: "immediate", executor: .immediate,
    probe: ExecutorProbe(name: "any thread") { true })
  static let serialQueue = onQueue("serial queue") { $0 }
  static let visitedQueue = onQueue("visits of a queue") { QueueExecutor($0) }
  static let countedQueue = onQueue("visits counted in a group") {
    QueueExecutor($0, group: DispatchGroup())
  }
  static let concurrentQueue = onQueue("concurrent queue", attributes: .concurrent) { $0 }

  private static func onQueue(
    _ description: String, attributes: DispatchQueue.Attributes = [],
    _ executor: (DispatchQueue) -> any PromiseExecutor
  ) -> Place {
    let queue = DispatchQueue(label: "pledge.tests", attributes: attributes)
    return Place(description: description, executor: executor(queue), probe: ExecutorProbe(queue))
  }

  static let global = Place(
    description: "global", executor: .global,
    probe: ExecutorProbe(name: "not the main queue") { !ExecutorProbe.main.isCurrent })
  static let main = Place(description: "main", executor: DispatchQueue.main, probe: .main)
  static let actor: Place = {
    let actor = QueueActor()
    return Place(description: "actor", executor: .actor(actor), probe: ExecutorProbe(actor.queue))
  }()
  static let custom: Place = {
    // A manual executor that a queue drives.
    let (manual, queue) = (ManualExecutor(), DispatchQueue(label: "pledge.tests.pump"))
    let executor = ClosureExecutor { job in
      manual.enqueue(job)
      queue.async { manual.runNext() }
    }
    return Place(description: "custom", executor: executor, probe: ExecutorProbe(manual))
  }()

  static let all: [Place] = [
    immediate, serialQueue, visitedQueue, countedQueue, concurrentQueue, global, main, actor,
    custom,
  ]
}

/// An actor that runs on a queue, so that a test can check whether it runs on it.
actor QueueActor {
  nonisolated let queue: DispatchQueue
  private nonisolated let executor: QueueSerialExecutor

  init() {
    queue = DispatchQueue(label: "pledge.tests.actor")
    executor = QueueSerialExecutor(queue: queue)
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
}

final class QueueSerialExecutor: SerialExecutor {
  let queue: DispatchQueue
  init(queue: DispatchQueue) { self.queue = queue }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

/// An executor that passes its jobs to a closure.
struct ClosureExecutor: PromiseExecutor {
  private let body: @Sendable (PromiseJob) -> Void
  init(_ body: @escaping @Sendable (PromiseJob) -> Void) { self.body = body }
  func enqueue(_ job: PromiseJob) { body(job) }
}

/// An actor on the main actor's executor.
actor MainExecutorActor {
  nonisolated var unownedExecutor: UnownedSerialExecutor { MainActor.sharedUnownedExecutor }
}

/// A value that a test's closures can modify, guarded by a lock.
final class Box<Value: Sendable>: Sendable {
  private let content: Mutex<Value>
  init(_ value: Value) { content = Mutex(value) }
  var value: Value {
    get { content.withLock { $0 } }
    set { content.withLock { $0 = newValue } }
  }
  func update(_ change: (inout Value) -> Void) { content.withLock { change(&$0) } }
}

/// The numbers from one on; counts how many were taken.
struct Numbers: Sequence, IteratorProtocol, Sendable {
  let taken: CallCounter
  var last = Int.max

  mutating func next() -> Int? { taken.count < last ? taken.call() : nil }
}

/// Work that ignores its cancellation, and ends when the test opens it.
struct StubbornWork: Sendable {
  /// Fulfilled when the work has started.
  let started: Promise<Void>
  private let starter: Resolver<Void>
  private let gate: Promise<Void>
  private let opener: Resolver<Void>
  private let changes = Recorder<Int>()

  init() {
    (started, starter) = Promise.withResolvers()
    (gate, opener) = Promise.withResolvers()
    started.ignoreErrors()
    // Work that a test never starts is dropped before it's opened.
    gate.ignoreErrors()
  }

  /// The number of tasks that run it.
  var running: Int { changes.events.reduce(0, +) }

  func open() { opener.fulfill() }

  /// Returns 1 when it ends.
  @discardableResult func run() async -> Int {
    changes.record(1)
    starter.fulfill()
    await Task.detached { [gate] in _ = await gate.result }.value
    changes.record(-1)
    return 1
  }
}

extension Promise {
  /// Creates a promise that stays pending without its resolver, and a counter of how often its
  /// producer is told of a cancellation.
  static func withToldProducer() -> (Promise, Resolver<Value>, told: CallCounter) {
    let (promise, resolver) = withResolvers()
    let told = CallCounter()
    resolver.onCancel { withExtendedLifetime(resolver) { _ = told.call() } }
    return (promise, resolver, told)
  }

  /// The current result as text, for short expectations.
  var state: String {
    switch currentResult {
    case nil: "pending"
    case .success(let value): "fulfilled: \(value)"
    case .failure(let error): "rejected: \(error)"
    }
  }
}

/// Whether to run the long forms of the tests.
let isFullRun = ProcessInfo.processInfo.environment["PLEDGE_FULL"] == "1"

/// Runs `body` outside of any task, on the main queue, or on a thread of its own with a small stack.
@discardableResult
func outsideTasks<T: Sendable>(
  onMain: Bool = false, stackSize: Int = 512 * 1024, _ body: @escaping @Sendable () throws -> T
) async -> Result<T, any Error> {
  await withCheckedContinuation { continuation in
    let run: @Sendable () -> Void = { continuation.resume(returning: Result { try body() }) }
    if onMain { return DispatchQueue.main.async(execute: run) }
    let thread = Thread(block: run)
    thread.stackSize = stackSize
    thread.start()
  }
}

/// Calls `body` this often in each of eight tasks, which have random numbers of their own.
func inEightTasks(
  rounds: Int, _ body: @escaping @Sendable (inout SeededRandom) async -> Void
) async {
  await withTaskGroup(of: Void.self) { group in
    for seed in 0..<8 {
      group.addTask {
        var random = SeededRandom(seed: UInt64(seed))
        for _ in 0..<rounds { await body(&random) }
      }
    }
  }
}
