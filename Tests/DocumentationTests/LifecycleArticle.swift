#if ServiceLifecycle && Logging
  import Logging
  import Pledge
  import PledgeLifecycle
  import PledgeTesting
  import ServiceLifecycle
  import ServiceLifecycleTestKit
  import Testing

  /// The examples of the article on integrations that need services.
  @Suite struct LifecycleArticle {
    struct Request: Sendable {}

    /// A service that has one request when the shutdown begins, and answers it before it ends.
    struct Server: ServiceLifecycle.Service {
      let respond: @Sendable (Request) -> Promise<Page>

      func run() async throws {
        let response = respond(Request())
        try await gracefulShutdown()
        try await expectFulfillment(of: response)
      }
    }

    typealias Load = @Sendable (Request) -> Promise<Page>

    @Test(arguments: [true, false])
    func shutdown_waitsForTheLastRequest(limited: Bool) async throws {
      let loading = Recorder<Resolver<Page>>()
      let load: Load = { _ in Promise { loading.record($0) } }
      try await testGracefulShutdown { trigger in
        let logger = Logger(label: "test")
        let end = Promise {
          if limited {
            try await self.serveWithALimit(logger, .seconds(600), load)
          } else {
            try await self.serve(logger, load)
          }
        }
        try await expectFulfillment(of: loading.reaches(1).promise)
        trigger.triggerGracefulShutdown()
        try expectPending(end)
        loading.events[0].fulfill(Page())
        try await expectFulfillment(of: end)
      }
    }

    private func serve(_ logger: Logger, _ load: @escaping Load) async throws {
      let requests = GracefulScope(limiter: Limiter(64), deadline: .seconds(20))
      let server = Server { request in requests.run { load(request) } }

      let group = ServiceGroup(
        services: [requests, server], gracefulShutdownSignals: [.sigterm], logger: logger)
      try await group.run()
    }

    private func serveWithALimit(
      _ logger: Logger, _ limit: Duration, _ load: @escaping Load
    ) async throws {
      let requests = GracefulScope(limiter: Limiter(64), deadline: .seconds(20))
      let server = Server { request in
        requests.run { load(request) }.timeout(after: limit)
      }

      var configuration = ServiceGroupConfiguration(
        services: [requests, server], gracefulShutdownSignals: [.sigterm], logger: logger)
      configuration.maximumGracefulShutdownDuration = .seconds(50)
      let group = ServiceGroup(configuration: configuration)

      try await group.run()
    }
  }
#endif
