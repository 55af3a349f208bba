import Dispatch
import Foundation
import Pledge
import PledgeTesting
import Testing

/// Executors that name the same serial executor: handlers of one promise run in the order in which
/// they were attached, whatever their executors.
@Suite(.apart) struct SerialExecutors {
  /// A way to attach a handler.
  struct Way: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let attach: @Sendable (Promise<Int>, @escaping @Sendable () -> Void) -> Promise<Void>

    init(
      _ name: String,
      _ attach:
        @escaping @Sendable (Promise<Int>, @escaping @Sendable () -> Void) -> Promise<Void>
    ) {
      testDescription = name
      self.attach = attach
    }

    init(_ name: String, on executor: some PromiseExecutor) {
      self.init(name) { promise, body in promise.done(on: executor) { _ in body() } }
    }
  }

  static let onMain: [Way] = [
    Way("@MainActor closure") { promise, body in promise.done { @MainActor _ in body() } },
    Way("DispatchQueue.main", on: DispatchQueue.main),
    Way("QueueExecutor", on: QueueExecutor(.main)),
    Way("QueueExecutor in a group", on: QueueExecutor(.main, group: DispatchGroup())),
    Way("QueueExecutor with flags", on: QueueExecutor(.main, flags: .assignCurrentContext)),
    Way("actor on the main executor", on: .actor(MainExecutorActor())),
  ]

  static let onQueue: [Way] = {
    let queue = DispatchQueue(label: "serial")
    return [
      Way("DispatchQueue", on: queue), Way("QueueExecutor", on: QueueExecutor(queue)),
      Way("QueueExecutor in a group", on: QueueExecutor(queue, group: DispatchGroup())),
      Way("QueueExecutor with flags", on: QueueExecutor(queue, flags: .assignCurrentContext)),
    ]
  }()

  static let onCustomExecutor: [Way] = {
    let executor = QueueSerialExecutor(queue: DispatchQueue(label: "executor"))
    let loop = TurnExecutor.shared(
      by: executor, name: "loop", isCurrent: { false },
      schedule: { executor.queue.async(execute: $0) })
    return [
      Way("actor", on: .actor(ActorOnExecutor(executor))),
      Way("another actor", on: .actor(ActorOnExecutor(executor))),
      Way("event loop", on: loop),
    ]
  }()

  @Test(arguments: [onMain, onQueue, onCustomExecutor], [false, true])
  func handlersOfEachPair_keepTheirOrder(_ ways: [Way], isSettledBefore: Bool) async throws {
    for first in ways {
      for second in ways {
        for _ in 0..<8 {
          let calls = Recorder<Int>()
          let (promise, resolver) = Promise<Int>.withResolvers()
          if isSettledBefore { resolver.fulfill(1) }
          let handlers = [first, second, first].enumerated().map { index, way in
            way.attach(promise) { calls.record(index) }
          }
          resolver.fulfill(1)
          for handler in handlers { try await expectFulfillment(of: handler) }
          #expect(calls.events == [0, 1, 2], "\(first.testDescription), \(second.testDescription)")
        }
      }
    }
  }

  // MARK: Nested event loops

  @Test func handlerThatRunsItsLoopUntilAnotherHasRun_ends() async throws {
    let loop = NestingLoop()
    let executor = TurnExecutor(name: "loop") { turn in loop.add(turn) }
    let (other, otherResolver) = Promise<Int>.withResolvers()
    let answer = other.map(on: executor) { $0 + 1 }
    let outer = Promise.value(1).map(on: executor) { _ in
      // As a modal dialog does.
      otherResolver.fulfill(1)
      loop.run { !answer.isPending }
      return !answer.isPending
    }
    loop.run { !outer.isPending }
    try await expectFulfillment(of: outer, with: true)
    try await expectFulfillment(of: answer, with: 2)
  }

  // MARK: Priorities

  @Test func urgentHandlerOnAnActor_doesNotWaitBehindALowPriorityTurn() async throws {
    let queue = UrgencyQueue()
    let actor = ActorOnExecutor(queue)
    // The executor runs jobs by priority, and is busy with urgent work for as long as there is any.
    let (low, lowResolver) = Promise<Int>.withResolvers()
    let (urgent, urgentResolver) = Promise<Int>.withResolvers()
    let calls = Recorder<String>()
    let first = low.done(on: .actor(actor)) { _ in calls.record("low") }
    let second = urgent.done(on: .actor(actor)) { _ in calls.record("urgent") }
    await Task.detached(priority: .background) { _ = lowResolver.fulfill(1) }.value
    await Task.detached(priority: .high) { _ = urgentResolver.fulfill(1) }.value
    try await queue.waitForJob(atLeast: .high)
    queue.runUrgentJobs(atLeast: .high)
    // In the order in which they were sent, in the urgent turn.
    #expect(calls.events == ["low", "urgent"])
    queue.runUrgentJobs(atLeast: .background)
    try await expectFulfillment(of: first)
    try await expectFulfillment(of: second)
    #expect(calls.events == ["low", "urgent"])
  }
}

/// An actor on the main actor's executor.
private actor MainExecutorActor {
  nonisolated var unownedExecutor: UnownedSerialExecutor { MainActor.sharedUnownedExecutor }
}

/// An actor on a given executor.
private actor ActorOnExecutor {
  private nonisolated let executor: any SerialExecutor
  init(_ executor: any SerialExecutor) { self.executor = executor }
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
}

/// An event loop that a thread runs, also from inside of it.
private final class NestingLoop: Sendable {
  private let turns = Mutex<[@Sendable () -> Void]>([])

  func add(_ turn: @escaping @Sendable () -> Void) { turns.withLock { $0.append(turn) } }

  /// Runs turns until `isDone`, or until there is none.
  func run(until isDone: () -> Bool) {
    while !isDone() {
      let turn = turns.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      guard let turn else { return }
      turn()
    }
  }
}

/// A serial executor that a test drives, by the priority of the jobs.
private final class UrgencyQueue: SerialExecutor {
  private let jobs = Mutex<[UnownedJob]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  private func take(atLeast priority: TaskPriority) -> UnownedJob? {
    jobs.withLock { jobs in
      guard let index = jobs.firstIndex(where: { $0.priority.rawValue >= priority.rawValue }) else {
        return nil
      }
      return jobs.remove(at: index)
    }
  }

  func waitForJob(atLeast priority: TaskPriority) async throws {
    try await waitUntil {
      jobs.withLock { $0.contains { $0.priority.rawValue >= priority.rawValue } }
    }
  }

  func runUrgentJobs(atLeast priority: TaskPriority) {
    while let job = take(atLeast: priority) {
      job.runSynchronously(on: asUnownedSerialExecutor())
    }
  }
}
