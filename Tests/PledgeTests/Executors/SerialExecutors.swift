/// Executors that name the same serial executor: handlers of one promise run in the order in which
/// they were attached, whatever their executors.
@Suite(.apart) struct SerialExecutors {
  /// A way to attach a handler.
  struct Way: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let attach: @Sendable (Promise<Int>, @escaping @Sendable () -> Void) -> Promise<Void>

    init(
      _ name: String,
      _ attach: @escaping @Sendable (Promise<Int>, @escaping @Sendable () -> Void) -> Promise<Void>
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
      Way("another actor", on: .actor(ActorOnExecutor(executor))), Way("event loop", on: loop),
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

  @Test func handlerFromAThreadWithoutPriority_hasThatOfATaskFromThere() async throws {
    actor Owner {}
    let owner = Owner()
    let (handler, task) = try await Promise(on: DispatchQueue(label: "no priority")) {
      (
        Promise.value(()).map(on: .actor(owner)) { Task.currentPriority },
        Task.detached { Task.currentPriority }
      )
    }.value
    #expect(try await handler.value == task.value)
  }

  @Test(arguments: [nil, DispatchGroup()])
  func aQueueExecutor_leavesTheProgramItsPlace(group: DispatchGroup?) async throws {
    let (queue, heard) = (DispatchQueue(label: "visits"), Recorder<Int>())
    let executor = QueueExecutor(queue, group: group)
    let chain = Promise.value(()).map(on: executor) {
      queue.async { heard.record(1) }
    }.done(on: executor) { heard.record(2) }
    try await expectFulfillment(of: chain)
    #expect(heard.events == [1, 2])
    group?.wait()
  }

  @Test func handlersAttachedInsideEnqueue_keepTheirPlace() async throws {
    // An executor can attach handlers while it receives a job: they come after those attached
    // before.
    let (manual, heard) = (ManualExecutor(), Recorder<Int>())
    let (promise, resolver) = Promise<Int>.withResolvers()
    let jobs = CallCounter()
    let attaching = ClosureExecutor { job in
      manual.enqueue(job)
      if jobs.call() == 1 { promise.done(on: manual) { _ in heard.record(3) }.ignoreErrors() }
    }
    promise.done(on: attaching) { _ in heard.record(1) }.ignoreErrors()
    promise.done(on: manual) { _ in heard.record(2) }.ignoreErrors()
    resolver.fulfill(1)
    manual.runAll()
    #expect(heard.events == [1, 2, 3])
  }
}

/// An actor on a given executor.
private actor ActorOnExecutor {
  private nonisolated let executor: QueueSerialExecutor
  init(_ executor: QueueSerialExecutor) { self.executor = executor }
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
}
