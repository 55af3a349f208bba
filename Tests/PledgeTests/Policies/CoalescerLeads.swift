/// The task that requests a key first, and waits without a promise, among other callers.
@Suite struct CoalescerLeads {
  private let requests = RequestCoalescer<Int, Int>()
  private let started = Recorder<Int>()
  private let cancelled = Recorder<Int>()
  private let gate = Promise<Int>.withResolvers()

  init() { gate.promise.ignoreErrors() }

  /// Starts a task that requests the key first, whose operation waits for the gate.
  private func lead() async -> Task<Int, any Error> {
    let task = Task { [requests, started, cancelled, gate] in
      try await requests.value(for: 1) {
        started.record(1)
        return try await withTaskCancellationHandler {
          try await Task.detached { try await gate.promise.value }.value
        } onCancel: {
          cancelled.record(1)
        }
      }
    }
    await started.reaches(1).value
    return task
  }

  private func join() -> Promise<Int> { requests.promise(for: 1) { .value(-1) } }

  @Test(arguments: [false, true])
  func oneThatCancels_leavesTheWorkToTheOther_andNewOnesJoinIt(leadCancels: Bool) async throws {
    let (lead, joined) = (await lead(), join())
    if leadCancels { lead.cancel() } else { joined.cancel() }
    let cancelledCall = leadCancels ? Promise { try await lead.value } : joined
    await #expect(throws: CancellationError.self) { try await cancelledCall.value }
    let late = join()
    gate.resolver.fulfill(3)
    #expect(try await (leadCancels ? joined.value : lead.value) == 3)
    #expect(try await late.value == 3)
    #expect(started.count == 1 && cancelled.count == 0 && requests.count == 0)
  }

  @Test(arguments: [false, true]) func allThatCancel_cancelTheWork(_ leadFirst: Bool) async throws {
    let (lead, joined) = (await lead(), join())
    if leadFirst { lead.cancel() } else { joined.cancel() }
    #expect(cancelled.count == 0 && requests.count == 1)
    if leadFirst { joined.cancel() } else { lead.cancel() }
    await #expect(throws: CancellationError.self) { try await lead.value }
    await #expect(throws: CancellationError.self) { try await joined.value }
    #expect(cancelled.count == 1 && requests.count == 0)
    #expect(try await join().value == -1)
    gate.resolver.fulfill(3)
  }

  @Test func leadAlone_cancelsTheWorkImmediately() async throws {
    let lead = await lead()
    lead.cancel()
    await #expect(throws: CancellationError.self) { try await lead.value }
    #expect(cancelled.count == 1 && requests.count == 0)
    gate.resolver.fulfill(3)
  }

  @Test func taskThatWasCancelledBefore_leavesNothingBehind() async throws {
    let task = Task { [requests] in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await requests.value(for: 1) { 1 }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(requests.count == 0)
  }

  @Test func workWithoutSuspension_thatNestsDeeply_doesNotOverflowTheStack() async throws {
    let requests = requests
    @Sendable func sum(_ number: Int) async throws -> Int {
      if number == 0 { return 0 }
      return try await requests.value(for: number) { try await sum(number - 1) + 1 }
    }
    #expect(try await sum(10_000) == 10_000)
    #expect(requests.count == 0)
  }

  /// The operation never suspends, and only checks whether it is cancelled.
  @Test func leadThatCancels_cancelsWorkThatHasNotSuspendedYet() async throws {
    let task = Task { [requests, started] in
      try await requests.value(for: 1) {
        started.record(1)
        while !Task.isCancelled {}
        return 1
      }
    }
    await started.reaches(1).value
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(requests.count == 0)
  }

  @Test func error_reachesAllCallers() async throws {
    let (lead, joined) = (await lead(), join())
    gate.resolver.reject(Boom())
    await #expect(throws: Boom.self) { try await lead.value }
    await #expect(throws: Boom.self) { try await joined.value }
    #expect(requests.count == 0)
  }

  @Test func value_isCachedForBothForms() async throws {
    let cache = RequestCoalescer<Int, Int>(caching: .init())
    #expect(try await cache.value(for: 1) { 1 } == 1)
    #expect(try await cache.value(for: 1) { 2 } == 1)
    #expect(try await cache.promise(for: 1) { .value(3) }.value == 1)
  }

  @Test func removedWork_continuesForItsLead() async throws {
    let lead = await lead()
    requests.removeAll()
    #expect(try await join().value == -1)
    gate.resolver.fulfill(3)
    #expect(try await lead.value == 3)
  }

  /// Detects lost callers, and data races under ThreadSanitizer.
  @Test func callersOfBothForms_onEightThreads_getTheirValues() async throws {
    let requests = RequestCoalescer<Int, Int>()
    let wrong = try await concurrentMap(0..<8, limit: 8) { thread in
      var wrong = 0
      for round in 0..<1_000 {
        let key = round / 4
        switch (thread + round) % 4 {
        case 0:
          let promise = requests.promise(for: key) { .value(key) }
          promise.cancel()
        case 1:
          let task = Task { try await requests.value(for: key) { key } }
          task.cancel()
          if let value = try? await task.value, value != key { wrong += 1 }
        case 2:
          if try await requests.promise(for: key, { .value(key) }).value != key { wrong += 1 }
        default:
          let value = try await requests.value(for: key) {
            await Task.yield()
            return key
          }
          if value != key { wrong += 1 }
        }
      }
      return wrong
    }
    #expect(wrong == Array(repeating: 0, count: 8))
    #expect(requests.count == 0)
  }
}
