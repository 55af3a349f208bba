import Dispatch
import Foundation
import Pledge
import PledgeTesting
import Testing

/// Expectations while all threads of the pool are busy, in a process of its own.
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
  // A new thread, because all others become busy, including that of the main queue.
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
    // Once the task can run, it takes longer than ending a wait whose time has expired.
    Task.detached {
      for _ in 0..<100 { await Task.yield() }
      resolver.fulfill(1)
    }
    // Three times the expectation's limit.
    Thread.sleep(forTimeInterval: 0.3)
    for _ in 0..<count { gate.signal() }
  }
  try await expectation.value
}

/// Synchronous, so that it may block.
private func block(at gate: DispatchSemaphore) { gate.wait() }
