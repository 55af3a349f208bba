/// Handlers on a queue keep their place among its other work.
@Suite struct OrderOnQueues {
  @Test(arguments: [nil, DispatchGroup()])
  func aQueueExecutor_leavesTheProgramItsPlace(group: DispatchGroup?) async throws {
    let queue = DispatchQueue(label: "visits")
    let heard = Recorder<Int>()
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
    let manual = ManualExecutor()
    let heard = Recorder<Int>()
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
