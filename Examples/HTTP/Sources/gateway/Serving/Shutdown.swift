import AsyncHTTPClient
import HTTPTypes
import Hummingbird
import Pledge
import ServiceLifecycle
import Synchronization

// A shutdown that loses no request has three steps. The order of the services in `Server`
// determines their order:
//
// 1. `Shutdown`: the gateway continues to serve, and announces the shutdown to load balancers at
// `/health` and to clients in the header field `connection: close`. 2. Hummingbird stops accepting
// connections and finishes the current requests. 3. `GracefulScope` of PledgeLifecycle: the calls
// that are still running, such as refreshes of the cache, have five seconds to end. Then the HTTP
// client closes its connections, and the backends shut down.

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

/// Closes the client's connection after the response, once the gateway is shutting down.
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

/// Closes the client's connections last; the calls that use them are in a `GracefulScope`.
struct ClientShutdown: Service {
  let client: HTTPClient

  func run() async throws {
    // If another service has failed, the task is cancelled.
    try? await gracefulShutdown()
    try await client.shutdown()
  }
}
