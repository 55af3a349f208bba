@testable import Pledge

/// Contract, line 13, on the real clock: no timers are left in the heap.
///
/// It runs in processes of its own, because it counts the timers in the heap.
@Suite struct Timers {
  @Test(arguments: situations.keys.sorted())
  func line13_noTimerIsLeft(after situation: String) async {
    await #expect(processExitsWith: .success) { [situation] in try await situations[situation]?() }
  }
}

private let situations: [String: @Sendable () async throws -> Void] = [
  "a timer without consumers ends with its promise": {
    var promise: Promise<Void>? = .after(.seconds(3600))
    #expect(count == 1)
    promise = nil
    #expect(count == 0 && promise == nil)

    // A chain is a consumer.
    let (done, resolver) = Promise<Void>.withResolvers()
    Promise<Void>.after(.milliseconds(1)).done(on: .immediate) { resolver.fulfill() }.ignoreErrors()
    try await expectFulfillment(of: done)
  },
  "the timer of an operation is released at once": {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let inTime = promise.timeout(after: .seconds(3600))
    let shared = promise.timeout(after: .seconds(3601))
    #expect(count == 2)
    shared.cancel()
    #expect(count == 1)
    resolver.fulfill(1)
    #expect(count == 0)
    try await expectFulfillment(of: inTime, with: 1)
    let delayed = Promise.value(1).delay(.seconds(3600))
    #expect(count == 1)
    delayed.cancel()
    #expect(count == 0)
    try await expectCancellation(of: delayed)
  },
  "absurd durations are taken": {
    for duration in [
      Duration.seconds(Int64.max), .seconds(Int64.max / 2), .seconds(100 * 365 * 86_400),
    ] {
      let promise = Promise<Void>.after(duration)
      #expect(count == 1)
      promise.cancel()
      #expect(count == 0)
    }
  },
  "timers fire in the order of their deadlines, and not early": {
    let order = Recorder<Int64>()
    let timers = timersOfOneMoment(milliseconds: [30, 10, 20, 0, 25], order)
    await order.reaches(5).value
    #expect(order.events == [0, 10, 20, 25, 30])
    #expect(count == 0)
    withExtendedLifetime(timers) {}
  },
  "many timers, in and out of the heap, at random": {
    var random = SeededRandom(seed: 7)
    var timers: [Promise<Void>] = []
    for _ in 0..<2_000 {
      timers.append(.after(.seconds(Int.random(in: 1_000...9_000, using: &random))))
      if Int.random(in: 0..<3, using: &random) == 0 {
        timers.remove(at: Int.random(in: 0..<timers.count, using: &random)).cancel()
      }
      #expect(count == timers.count)
    }
    for timer in timers.shuffled(using: &random) { timer.cancel() }
    #expect(count == 0)
  },
]

/// Creates timers whose deadlines are the given durations after one moment, and which record these
/// when they fire.
///
/// None fires before all have been created: the first to fire blocks the timers' thread until then.
private func timersOfOneMoment(
  milliseconds: [Int64], _ order: Recorder<Int64>
) -> [TimerHeap.Timer] {
  let isBlocked = DispatchSemaphore(value: 0)
  let gate = DispatchSemaphore(value: 0)
  let start = SystemClock.now
  let first = TimerHeap.Timer(deadline: start) {
    isBlocked.signal()
    gate.wait()
  }
  isBlocked.wait()
  defer { gate.signal() }
  return [first]
    + milliseconds.map { milliseconds in
      let deadline = start + milliseconds * 1_000_000
      return TimerHeap.Timer(deadline: deadline) {
        order.record(SystemClock.now >= deadline ? milliseconds : -1)
      }
    }
}

/// The number of pending timers in this process.
private var count: Int { TimerHeap.shared.count }
