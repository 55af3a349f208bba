import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Pledge
import PledgeGRPC

/// Calls a server with a deadline: what the client, the server, and the server's own calls notice of it.
///
/// ```sh
/// swift run --package-path Integrations/PledgeGRPC deadlines
/// ```
@main
enum Deadlines {
  /// A method that takes a number of milliseconds; clients and servers share the description.
  static let brew = RemoteMethod.json("shop.Tea", "Brew", takes: Int.self, returns: String.self)

  static func main() async throws { try await run { print($0) } }

  static func run(_ report: @escaping @Sendable (String) -> Void) async throws {
    TaskLocals.propagateCallDeadline()
    let server = GRPCServer(
      transport: .http2NIOPosix(
        address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext),
      services: [Shop(report: report)], interceptors: [ContextInterceptor()])
    let serving = Promise { try await server.serve() }
    guard let address = try await server.listeningAddress?.ipv4 else { return }

    let client = GRPCClient(
      transport: try .http2NIOPosix(
        target: .ipv4(address: "127.0.0.1", port: address.port), transportSecurity: .plaintext),
      interceptors: [ContextInterceptor()])
    let connections = Promise { try await client.runConnections() }
    let shop = Peer("the shop", client)

    report(try await shop.call(brew, 1, within: .seconds(30)).value)

    // The deadline applies on both sides: the call fails, and the server cancels the handler's promise.
    let late = await shop.call(brew, 60_000, within: .seconds(1)).result
    if case .failure(let error as RPCError) = late { report("client: \(error.code)") }

    // Several calls with one deadline. It has passed for the second one, which therefore isn't sent.
    let both = CallDeadline.$current.withValue(.now + .seconds(1)) {
      shop.call(brew, 60_000).recover { _ in shop.call(brew, 1) }
    }
    if case .failure(let error as RPCError) = await both.result {
      report("client: \(error.message)")
    }

    client.beginGracefulShutdown()
    server.beginGracefulShutdown()
    _ = await (connections.result, serving.result)
  }
}

/// The service, whose handler reads the deadline and is cancelled when it has passed.
private struct Shop: RegistrableRPCService {
  let report: @Sendable (String) -> Void

  func registerMethods(with router: inout RPCRouter<some ServerTransport>) {
    router.register(Deadlines.brew) { milliseconds, _ in
      report("server: there is \(CallDeadline.current == nil ? "no" : "a") deadline")
      return Promise.after(.milliseconds(milliseconds)).map { "tea after \(milliseconds) ms" }
        .tap { result in
          if case .failure(is CancellationError) = result { report("server: cancelled") }
        }
    }
  }
}
