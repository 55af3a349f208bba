import Dispatch
import Pledge
import PledgeTesting
import Testing

/// `RequestCoalescer`, `using` and `results(of:)`.
@Suite struct Sharing {
  let starts = CallCounter()
  let told = CallCounter()
  let work = Promise<Int>.withResolvers()

  init() {
    // Some tests drop the work.
    DiagnosticsLog.install()
    work.resolver.onCancel { [told] in told.call() }
  }

  private func ask(_ table: RequestCoalescer<String, Int>, _ key: String = "a") -> Promise<Int> {
    table.promise(for: key) {
      starts.call()
      return work.promise
    }
  }

  @Test func inFlight_startsOnce_forAllWhoAsk() async throws {
    let table = RequestCoalescer<String, Int>()
    let all = (0..<5).map { _ in ask(table) }
    #expect(table.count == 1)
    work.resolver.fulfill(1)
    for promise in all { try await expectFulfillment(of: promise, with: 1) }
    #expect(table.count == 0)
    try starts.expectOnce()
  }

  @Test func inFlight_oneCancels_theOthersGetTheValue_allCancel_theWorkIs() async throws {
    let table = RequestCoalescer<String, Int>()
    let all = (0..<3).map { _ in ask(table) }
    all[0].cancel()
    try await expectCancellation(of: all[0])
    try told.expectNever()
    all[1].cancel()
    all[2].cancel()
    try await expectCancellation(of: all[2])
    try told.expectOnce()
    #expect(table.count == 0)
  }

  @Test func inFlight_keepsNoErrors_andValuesWhenWanted() async throws {
    let table = RequestCoalescer<String, Int>(caching: .init())
    let failing = table.promise(for: "a") { Promise.rejected(Boom()) }
    try await expectRejection(of: failing, with: Boom())
    #expect(table.count == 0)
    try await expectFulfillment(of: table.promise(for: "a") { .value(1) }, with: 1)
    try await expectFulfillment(of: table.promise(for: "a") { .value(2) }, with: 1)
    table.removeValue(for: "a")
    try await expectFulfillment(of: table.promise(for: "a") { .value(3) }, with: 3)
    table.removeAll()
    #expect(table.count == 0)
  }

  @Test func inFlight_ofManyThreads_startsOnce() async throws {
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

  @Test(arguments: ["fulfilled", "rejected", "throws", "cancelled"])
  func using_releasesOnce(end: String) async throws {
    let released = Recorder<Int>()
    let began = Promise<Void>.withResolvers()
    let work = work
    let result = Promise<Int>.using(.value(5), release: { released.record($0) }) { resource in
      began.resolver.fulfill()
      if end == "throws" { throw Boom() }
      return work.promise.map(on: .immediate) { $0 + resource }
    }
    try await expectFulfillment(of: began.promise)
    switch end {
    case "fulfilled":
      work.resolver.fulfill(1)
      try await expectFulfillment(of: result, with: 6)
    case "rejected":
      work.resolver.reject(Boom())
      try await expectRejection(of: result, with: Boom())
    case "throws":
      try await expectRejection(of: result, with: Boom())
    default:
      result.cancel()
      try await expectCancellation(of: result)
      try await expectCancellation(of: work.promise)
    }
    await released.reaches(1).value
    try released.expect([5])
  }

  @Test func using_withoutAResource_releasesNothing() async throws {
    let released = CallCounter()
    let result = Promise<Int>.using(
      Promise<Int>.rejected(Boom()), release: { _ in released.call() }
    ) { Promise.value($0) }
    try await expectRejection(of: result, with: Boom())
    try released.expectNever()
  }

  @Test func results_comeInTheOrderOfCompletion() async throws {
    let parts = (0..<3).map { _ in Promise<Int>.withResolvers() }
    let results = Promise.results(of: parts.map(\.promise))
    parts[2].resolver.fulfill(2)
    parts[0].resolver.reject(Boom())
    parts[1].resolver.fulfill(1)
    var seen: [Int?] = []
    for await result in results { seen.append(try? result.get()) }
    #expect(seen == [2, nil, 1])
    for await _ in Promise.results(of: [Promise<Int>]()) { Issue.record("no promise, no result") }
  }

  @Test func results_leavingTheLoop_withdrawsFromTheRest() async throws {
    let (quick, never) = (Promise.value(1), work.promise)
    do {
      for await result in Promise.results(of: [quick, never]) {
        #expect(try result.get() == 1)
        break
      }
    }
    try await expectCancellation(of: never)
    try told.expectOnce()
  }
}
