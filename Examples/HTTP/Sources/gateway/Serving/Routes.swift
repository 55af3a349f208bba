import HTTPTypes
import Hummingbird
import PledgeDiagnostics

struct Routes: Sendable {
  let pages: PageGateway
  let backends: [UnreliableBackend]
  let settings: Settings
  let metrics: PrometheusRegistry
  let shutdown: Shutdown
  let connections: Connections

  func router() -> Router<GatewayContext> {
    let router = Router(context: GatewayContext.self)
    router.add(middleware: RequestLogs(metrics: metrics))
    router.add(middleware: ClosesConnections(shutdown: shutdown))

    router.get("page/{id}") { request, context in
      let id = try context.parameters.require("id", as: Int.self)
      let page = pages.page(id, by: deadline(of: request))
      return try await connections.whileConnected(context, cancel: page.cancel) {
        try await page.value
      }
    }
    router.get("async/{id}") { request, context in
      let id = try context.parameters.require("id", as: Int.self)
      let page = Task { try await pages.asyncPage(id, by: deadline(of: request)) }
      return try await connections.whileConnected(context, cancel: page.cancel) {
        try await withTaskCancellationHandler {
          try await page.value
        } onCancel: {
          page.cancel()
        }
      }
    }
    router.get("metrics") { _, _ in metrics.text() }
    router.get("debug/pending") { _, _ in pendingPromises() }
    router.get("health") { _, _ in
      shutdown.hasBegun ? Response(status: .serviceUnavailable) : Response(status: .ok)
    }
    // Loads pages continuously and plots their latencies, lets you inject faults, and shows some of
    // `/metrics` and `/debug/pending`.
    router.get("") { _, _ in
      Response(
        status: .ok, headers: [.contentType: "text/html; charset=utf-8"],
        body: .init(byteBuffer: ByteBuffer(bytes: PackageResources.live_html)))
    }
    addFaults(to: router)
    return router
  }

  /// Adds `POST /faults/prices?stalls=0.02`, which sets the faults of a backend, and `GET`, which
  /// returns them.
  private func addFaults(to router: Router<GatewayContext>) {
    router.get("faults/{backend}") { _, context in try backend(context).faults.withLock { $0 } }
    router.post("faults/{backend}") { request, context in
      let query = request.uri.queryParameters
      return try backend(context).faults.withLock { faults in
        faults.latency = query.get("latency", as: Double.self) ?? faults.latency
        faults.stalls = query.get("stalls", as: Double.self) ?? faults.stalls
        faults.stall = query.get("stall", as: Double.self) ?? faults.stall
        faults.errors = query.get("errors", as: Double.self) ?? faults.errors
        return faults
      }
    }
  }

  private func backend(_ context: GatewayContext) throws -> UnreliableBackend {
    let name = try context.parameters.require("backend")
    guard let backend = backends.first(where: { $0.name == name }) else {
      throw HTTPError(.notFound)
    }
    return backend
  }

  private func deadline(of request: Request) -> Deadline {
    .of(header: request.headers[Deadline.header], limit: settings.timeout)
  }
}

/// The promises that are pending, and what each of them waits for.
func pendingPromises() -> String {
  guard let trace = Trace.current else {
    return "Promises aren't recorded; start the gateway without --no-trace.\n"
  }
  return "\(trace.pendingTree())\n"
}
