@_spi(DropIns) @testable import Pledge

@Suite struct QueueTaskTests {
  private let queue = DispatchQueue(label: "tasks")

  @Test(arguments: [false, true]) func task_startsInTheOrderOfHandlers(isSettled: Bool) async {
    let probe = ExecutorProbe(queue)
    let (promise, resolver) = Promise<Int>.withResolvers()
    if isSettled { resolver.fulfill(0) }
    let order = Recorder<Int>()
    // Until all that follows has been sent to it.
    queue.suspend()
    promise.done(on: queue) { _ in order.record(1) }.ignoreErrors()
    let task = Task.held(on: queue, until: promise) {
      order.record(2)
      let (other, resolver) = Promise<Int>.withResolvers()
      // Behind this code, on the same queue.
      queue.async { resolver.fulfill(1) }
      #expect(try! await other.value == 1)
      #expect(probe.isCurrent)
      order.record(4)
    }
    promise.done(on: queue) { _ in order.record(3) }.ignoreErrors()
    resolver.fulfill(0)
    queue.resume()
    await task.value
    #expect(order.events == [1, 2, 3, 4])
  }

  @Test func withoutTaskExecutors_runsOnTheQueue() async {
    let probe = ExecutorProbe(queue)
    let (promise, resolver) = Promise<Int>.withResolvers()
    let (other, otherResolver) = Promise<Int>.withResolvers()
    let task = Task.heldByActor(on: queue, until: promise) {
      #expect(probe.isCurrent)
      // Behind this code, on the same queue.
      queue.async { otherResolver.fulfill(1) }
      #expect(try! await other.value == 1)
      #expect(probe.isCurrent)
    }
    resolver.fulfill(0)
    await task.value
    #expect(other.currentResult != nil)
  }

  @Test func abandonedPromise_releasesTheOperation_andEndsTheTask() async throws {
    for start in [Task.held, Task.heldByActor] as [Start] {
      let (lifetimes, calls) = (LifetimeTracker(), CallCounter())
      let (promise, resolver) = Promise<Int>.withResolvers()
      let token = lifetimes.track("captured")
      let task = start(queue, promise) { _ = (token, calls.call()) }
      resolver.abandon()
      await task.value
      #expect(calls.count == 0)
    }
  }

  typealias Start = (
    DispatchQueue, Promise<Int>, nonisolated(nonsending) @escaping () async -> Void
  ) -> Task<Void, Never>
}
