#if Metrics
  import Metrics
  import Pledge
  import PledgeMetrics
  import PledgeTesting
  import Testing

  /// The examples of the article on integrations that need metrics.
  @Suite struct MetricsArticle {
    @Test func measuring() async throws {
      PromiseMetrics.start()

      let limiter = Limiter(8, queueCapacity: 100).measured(as: "database")
      let users = RequestCoalescer<Int, User>().measured(as: "users")
      let policy = RetryPolicy.fixed(attempts: 3).measured(as: "database")
      let breaker = CircuitBreaker(.consecutiveFailures(5)).measured(as: "database")

      let people = DataLoader<Int, User> { ids in
        try await server.users(ids: ids).mapValues { user in .success(user) }
      }.measured(as: "people")

      try await expectFulfillment(of: people.promise(for: 7))
      let user = Promise.retry(policy, clock: ContinuousClock()) {
        limiter.run { users.promise(for: 7) { fetchUser(id: 7) } }
      }
      try await expectFulfillment(of: user)
      withExtendedLifetime(breaker) {}
    }
  }
#endif
