import Dispatch
import Pledge
import PledgeTesting
import Testing

/// Requests of a coalescer on several threads, in parallel.
@Suite(.apart) struct RequestCoalescerRaces {
  @Test func joiningCaller_isNotCancelledWithTheOthers() throws {
    let coalescer = RequestCoalescer<Int, Int>()
    for _ in 0..<5_000 {
      let (work, resolver) = Promise<Int>.withResolvers()
      let others = (0..<2).map { _ in coalescer.promise(for: 1) { work } }
      let group = DispatchGroup()
      for other in others { DispatchQueue.global().async(group: group) { other.cancel() } }
      let joined = coalescer.promise(for: 1) { .value(2) }
      group.wait()
      resolver.fulfill(1)
      #expect([1, 2].contains(try joined.wait()))
    }
    #expect(coalescer.count == 0)
  }

  @Test func requestsOfManyThreads_startTheWorkOnce() async throws {
    for _ in 0..<100 {
      let table = RequestCoalescer<Int, Int>(caching: .init())
      let starts = CallCounter()
      let promises = Recorder<Promise<Int>>()
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        promises.record(
          table.promise(for: 1) {
            starts.call()
            return When.later.fulfill(7) { $0 }
          })
      }
      for promise in promises.events { try await expectFulfillment(of: promise, with: 7) }
      try starts.expectOnce()
    }
  }
}
