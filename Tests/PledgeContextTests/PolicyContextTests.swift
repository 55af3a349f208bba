#if Logging
  import InMemoryLogging
  import Logging
  import Pledge
  import PledgeLogging
  import PledgeTesting
  import Testing

  private struct AttemptError: Error {}

  /// The logger of a request in the closures of policies, which run when timers, other requests, and
  /// cancellations say so.
  @Suite struct PolicyContextTests {
    private let handler = InMemoryLogHandler()
    private let clock = TestClock()

    /// Calls `body` with the logger of a request.
    private func asRequest<T>(_ id: String, _ body: () throws -> T) rethrows -> T {
      var logger = Logger(label: "test", factory: { [handler] _ in handler })
      logger[metadataKey: "request"] = "\(id)"
      return try withLogger(logger) { _ in try body() }
    }

    /// Expects that the lines of each request have its id, and returns how many have each text.
    private func countLines() -> [String: Int] {
      var counts: [String: Int] = [:]
      for entry in handler.entries {
        let words = "\(entry.message)".split(separator: " ")
        #expect(entry.metadata["request"].map { "\($0)" } == words.last.map(String.init))
        counts[String(words[0]), default: 0] += 1
      }
      return counts
    }

    @Test func policies_keepTheLoggerOfTheirRequest() async throws {
      TaskLocals.propagateLogger()
      let count = 20
      let limiter = Limiter(3)
      let pages = RequestCoalescer<Int, Int>()
      let (page, resolver) = Promise<Int>.withResolvers()
      let results = (0..<count).map { number in
        asRequest("r\(number)") {
          let id = "r\(number)"
          let calls = CallCounter()
          return Promise<Int>.retry(.fixed(attempts: 2, delay: .seconds(1)), clock: clock) {
            [clock] in
            Logger.current.info("attempt of \(id)")
            return limiter.run {
              Logger.current.info("start of \(id)")
              return Promise<Int>.hedged(delay: .seconds(1), clock: clock) {
                Logger.current.info("hedge of \(id)")
                if calls.call().isMultiple(of: 2) { return .rejected(AttemptError()) }
                return Promise.after(.seconds(2), clock: clock).map { throw AttemptError() }
              }
            }
          }
          .recover { _ in
            Logger.current.info("recovery of \(id)")
            return pages.promise(for: 1) {
              Logger.current.info("work of \(id)")
              return page
            }
          }
          .timeout(after: .seconds(3600), clock: clock)
          .finally { Logger.current.info("end of \(id)") }
        }
      }
      let all = Promise.all(results)
      while all.isPending, countLines()["recovery", default: 0] < count {
        await clock.advance(by: .milliseconds(500))
        await Task.yield()
      }
      asRequest("settler") { _ = resolver.fulfill(7) }
      try await expectFulfillment(of: all, with: Array(repeating: 7, count: count))
      let counts = countLines()
      #expect(counts["attempt"] == 2 * count)
      #expect(counts["start"] == 2 * count)
      #expect(counts["hedge"] == 4 * count)
      #expect(counts["recovery"] == count)
      #expect(counts["work"] == 1)
      #expect(counts["end"] == count)
    }

    @Test func cancellation_isLoggedForTheRequestThatIsCancelled() async throws {
      TaskLocals.propagateLogger()
      let work = asRequest("r1") {
        Promise<Int> { resolver in
          resolver.onCancel {
            Logger.current.info("cancellation of r1")
            _ = resolver
          }
        }
      }
      asRequest("shutdown") { work.cancel() }
      try await expectCancellation(of: work)
      #expect(countLines() == ["cancellation": 1])
    }
  }
#endif
