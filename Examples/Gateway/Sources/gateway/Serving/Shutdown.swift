import AsyncHTTPClient
import HTTPTypes
import Hummingbird
import Logging
import Pledge
import ServiceLifecycle
import Synchronization

// A shutdown that loses no request has three steps, which the order of the services in `Server` gives:
//
// 1. `Shutdown`: the gateway says that it is leaving, and goes on serving. Load balancers see it at
//    `/health`, and clients in the header `connection: close`.
// 2. Hummingbird accepts no more connections and answers what it has.
// 3. `Calls`: the calls that run on, such as refreshes of the cache, get a last chance. Then the HTTP
//    client closes its connections, and the backends may go.

/// The first step.
final class Shutdown: Service {
  private let isBegun = Atomic(false)
  private let drain: Duration

  init(drain: Duration) { self.drain = drain }

  var hasBegun: Bool { isBegun.load(ordering: .relaxed) }

  func run() async throws {
    try await gracefulShutdown()
    isBegun.store(true, ordering: .relaxed)
    try await Task.sleep(for: drain)
  }
}

/// Tells clients that their connection ends with this response, once the gateway is shutting down.
struct ClosesConnections<Context: RequestContext>: RouterMiddleware {
  let shutdown: Shutdown

  func handle(
    _ request: Request, context: Context,
    next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    var response = try await next(request, context)
    if shutdown.hasBegun { response.headers[.connection] = "close" }
    return response
  }
}

/// The third step.
struct Calls: Service {
  let pages: PageGateway
  let client: HTTPClient

  func run() async throws {
    do {
      try await gracefulShutdown()
      try await pages.drain(within: .seconds(5)).value
    } catch is CancellationError {
      // Another service has failed: nothing is waited for.
    }
    try await client.shutdown()
  }
}
