import AsyncHTTPClient
import Hummingbird
import InMemoryTracing
import Logging
import Pledge
import PledgeLifecycle
import PledgeLogging
import PledgeTracing
import ServiceLifecycle
import UnixSignals

/// The gateway and its backends, ready to run.
struct Server: Sendable {
  let backends: UnreliableBackends
  let metrics = PrometheusRegistry()
  /// The address of the gateway, after it has started.
  let address: Promise<String>
  let group: ServiceGroup

  init(
    settings: Settings, backends: UnreliableBackends = UnreliableBackends(), logger: Logger,
    tracer: InMemoryTracer? = nil, shutdownSignals: [UnixSignal] = []
  ) {
    TaskLocals.propagateLogger()
    TaskLocals.propagateServiceContext()
    self.backends = backends
    let (address, hasStarted) = Promise<String>.withResolvers()
    self.address = address

    var configuration = HTTPClient.Configuration()
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
      2 * settings.concurrency
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let scope = GracefulScope(deadline: .seconds(5))
    let services = SharedServices(client: client, metrics: metrics, scope: scope)
    let pages = PageGateway(backends: backends.addresses, settings: settings, services: services)
    let shutdown = Shutdown(drain: settings.drain)
    let connections = Connections()
    let routes = Routes(
      pages: pages, backends: backends.all, settings: settings, metrics: metrics,
      shutdown: shutdown, connections: connections)
    let gateway = Application(
      router: routes.router(),
      server: .http1(
        configuration: .init(additionalChannelHandlers: [ConnectionObserver(connections)])),
      configuration: .init(address: .hostname("127.0.0.1", port: settings.port)),
      onServerRunning: { channel in
        hasStarted.fulfill("http://127.0.0.1:\(channel.localAddress?.port ?? 0)")
      },
      logger: logger)

    // Services shut down in reverse order, each when the one after it has ended: see
    // Shutdown.swift.
    let exports: [any Service] = tracer.map { [SpanExport(tracer: $0)] } ?? []
    let order: [any Service] =
      exports + backends.all.map { $0.application(logger: logger) }
      + [ClientShutdown(client: client), scope, gateway, shutdown]
    group = ServiceGroup(
      configuration: .init(
        services: order, gracefulShutdownSignals: shutdownSignals, logger: logger))
  }
}
