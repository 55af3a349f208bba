import Dispatch
import Testing

@_spi(DropIns) @testable import Pledge

@Suite struct QueueTaskTests {
  @Test func run_withoutTaskExecutors_continuesOnQueue() async {
    let queue = DispatchQueue(label: "tasks")
    let isQueue = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: isQueue, value: true)
    let (promise, resolver) = Promise<Int>.withResolvers()
    let actor = QueueIsolation(queue)
    actor.start()
    await actor.run {
      #expect(DispatchQueue.getSpecific(key: isQueue) == true)
      // Behind this code, on the same queue.
      queue.async { resolver.fulfill(1) }
      #expect(try! await promise.value == 1)
      #expect(DispatchQueue.getSpecific(key: isQueue) == true)
    }
  }
}
