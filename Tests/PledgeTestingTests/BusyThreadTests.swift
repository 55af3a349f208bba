import Dispatch
import Foundation
import Pledge
import PledgeTesting
import Testing

/// Expectations while all threads of the tasks are busy, in a process of its own.
@Suite struct BusyThreadTests {
  @Test func busyThreads_extendTheTime() async {
    await #expect(processExitsWith: .success) { try await outlastBusyThreads() }
  }
}

private func outlastBusyThreads() async throws {
  let (promise, resolver) = Promise<Int>.withResolvers()
  let begun = Recorder<Int>()
  let expectation = Task.detached {
    begun.record(0)
    try await expectFulfillment(of: promise, with: 1, within: .milliseconds(100))
  }
  // A thread of its own: after a while all others are busy, the one of the main queue, too.
  Thread.detachNewThread {
    let gate = DispatchSemaphore(value: 0)
    let busy = Recorder<Int>()
    let count = ProcessInfo.processInfo.activeProcessorCount
    func wait(until condition: () -> Bool) {
      while !condition() { Thread.sleep(forTimeInterval: 0.01) }
    }

    wait { begun.count == 1 }
    for number in 0..<count {
      Task.detached {
        busy.record(number)
        block(at: gate)
      }
    }
    wait { busy.count == count }
    // Once it can run, it takes longer than the end of a wait takes whose time is over.
    Task.detached {
      for _ in 0..<100 { await Task.yield() }
      resolver.fulfill(1)
    }
    // The time that the expectation has, three times.
    Thread.sleep(forTimeInterval: 0.3)
    for _ in 0..<count { gate.signal() }
  }
  try await expectation.value
}

/// Not asynchronous, so that it may block.
private func block(at gate: DispatchSemaphore) { gate.wait() }
