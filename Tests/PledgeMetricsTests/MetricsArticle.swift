#if Metrics
  import CoreMetrics
  import Metrics
  import MetricsTestKit
  import Pledge
  import PledgeMetrics
  import PledgeTesting
  import Testing

  /// The example of the article on integrations that needs metrics.
  @Suite struct MetricsArticle {
    private struct User: Sendable, Equatable { let id: Int }
    private struct Offline: Error {}

    private struct Server: Sendable {
      func users(ids: [Int]) async throws -> [Int: User] {
        Dictionary(uniqueKeysWithValues: ids.map { ($0, User(id: $0)) })
      }
    }

    @Test func eachPolicy_hasMetricsUnderItsName() async throws {
      let metrics = TestMetrics()
      MetricsSystem.bootstrap(metrics)
      let server = Server()

      PromiseMetrics.start()

      let limiter = Limiter(8, queueCapacity: 100).measured(as: "database")
      let users = RequestCoalescer<Int, User>().measured(as: "users")
      let policy = RetryPolicy.fixed(attempts: 3).measured(as: "database")
      let breaker = CircuitBreaker(.consecutiveFailures(5)).measured(as: "database")
      let people = DataLoader<Int, User> { ids in
        try await server.users(ids: ids).mapValues { user in .success(user) }
      }.measured(as: "people")

      let calls = CallCounter()
      let user = Promise.retry(policy, clock: ContinuousClock()) {
        limiter.run {
          users.promise(for: 7) {
            breaker.run { calls.call() == 1 ? .rejected(Offline()) : people.promise(for: 7) }
          }
        }
      }
      try await expectFulfillment(of: user, with: User(id: 7))

      func count(_ metric: String, _ dimensions: (String, String)...) throws -> Int64 {
        try metrics.expectCounter("pledge.\(metric)", dimensions).totalValue
      }
      let runs = try metrics.expectTimer("pledge.limiter.run", [("limiter", "database")])
      #expect(runs.values.count == 2)
      #expect(try count("retries", ("policy", "database")) == 1)
      #expect(try count("coalescer.requests", ("coalescer", "users"), ("result", "started")) == 2)
      #expect(try count("breaker.calls", ("breaker", "database"), ("result", "failure")) == 1)
      #expect(try count("breaker.calls", ("breaker", "database"), ("result", "success")) == 1)
      #expect(try count("loader.requests", ("loader", "people"), ("result", "started")) == 1)
      let sizes = try metrics.expectRecorder("pledge.loader.batch.size", [("loader", "people")])
      #expect(sizes.values == [1])
      // The metrics of the process exist; other tests change them, too.
      #expect(throws: Never.self) { try count("timers.fired") }
    }
  }
#endif
