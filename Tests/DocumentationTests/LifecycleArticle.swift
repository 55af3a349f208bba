#if ServiceLifecycle && Logging
  import Logging
  import Pledge
  import PledgeLifecycle
  import PledgeTesting
  import ServiceLifecycle
  import Testing

  /// The examples of the article on integrations that need services.
  @Suite struct LifecycleArticle {
    struct Request: Sendable {}

    /// A service that has one request, and ends.
    struct Server: ServiceLifecycle.Service {
      let respond: @Sendable (Request) -> Promise<Page>

      func run() async throws { try await expectFulfillment(of: respond(Request())) }
    }

    @Test func drainingAScope() async throws {
      // The server ends by itself, which ends the group.
      await #expect(throws: ServiceGroupError.self) { try await serve(Logger(label: "test")) }
    }

    private func serve(_ logger: Logger) async throws {
      let requests = GracefulScope(limiter: Limiter(64), deadline: .seconds(20))
      let server = Server { request in requests.run { load(request) } }

      let group = ServiceGroup(
        services: [requests, server], gracefulShutdownSignals: [.sigterm], logger: logger)
      try await group.run()
    }

    @Test func limitingAShutdown() async throws {
      await #expect(throws: ServiceGroupError.self) {
        try await serveWithALimit(Logger(label: "test"), .seconds(2))
      }
    }

    private func serveWithALimit(_ logger: Logger, _ limit: Duration) async throws {
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

    private func load(_ request: Request) -> Promise<Page> { .value(Page()) }
  }
#endif
