import Foundation
import GRPCCore
import GRPCInProcessTransport
import GRPCNIOTransportHTTP2Posix
import Pledge
import PledgeGRPC

/// Measures what calls of gRPC cost through Pledge, on both sides, compared with the same calls without it.
///
/// Client and server are in this process, and the figures are the processor time of both. Compare only
/// the ratios.
@main
enum RemoteCalls {
  private static let rounds = 11
  private static let calls = 2_000
  private static let messages = 20_000
  /// Calls in progress at the same time.
  private static let callers = 8

  static func main() async throws {
    print("| transport | unit | gRPC, µs | through Pledge, µs | ratio |")
    print("|---|---|---|---|---|")
    let inProcess = InProcessTransport()
    try await measure("in process", server: inProcess.server) { _ in inProcess.client }
    let http2 = HTTP2ServerTransport.Posix(
      address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext)
    try await measure("HTTP/2 on loopback", server: http2) { server in
      let address = try await server.listeningAddress
      return try HTTP2ClientTransport.Posix.http2NIOPosix(
        target: .ipv4(address: "127.0.0.1", port: address?.ipv4?.port ?? 0),
        transportSecurity: .plaintext)
    }
  }

  private static func measure<Listener: ServerTransport, Transport: ClientTransport>(
    _ name: String, server transport: Listener,
    connecting makeTransport: @Sendable (GRPCServer<Listener>) async throws -> Transport
  ) async throws {
    var router = RPCRouter<Listener>()
    router.registerPlainMethods()
    router.registerPledgeMethods()
    let server = GRPCServer(transport: transport, router: router)
    let serving = Promise { try await server.serve() }
    let client = GRPCClient(transport: try await makeTransport(server))
    let running = Promise { try await client.runConnections() }
    let peer = Peer(name, client)

    var unary = Comparison()
    try await unary.measure(
      rounds: rounds, units: calls, plain: { try await inParallel { try await peer.plainEcho() } },
      pledge: { try await inParallel { try await peer.pledgeEcho() } })
    report(name, "unary call", unary)

    var stream = Comparison()
    try await stream.measure(
      rounds: rounds, units: messages, plain: { try await peer.plainBlocks(messages) },
      pledge: { try await peer.pledgeBlocks(messages) })
    report(name, "message of a server's stream", stream)

    client.beginGracefulShutdown()
    try await running.value
    server.beginGracefulShutdown()
    try await serving.value
  }

  private static func inParallel(_ call: @escaping @Sendable () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<callers {
        group.addTask { for _ in 0..<calls / callers { try await call() } }
      }
      try await group.waitForAll()
    }
  }

  private static func report(_ transport: String, _ unit: String, _ costs: Comparison) {
    let figures = String(
      format: "%.1f | %.1f | %.2f", costs.plain.median, costs.pledge.median, costs.ratio)
    print("| \(transport) | \(unit) | \(figures) |")
  }
}
