import GRPCCore
import GRPCNIOTransportHTTP2Posix
import NIOCore
import Pledge
import PledgeGRPC
import PledgeTesting
import Testing

typealias TestPeer = Peer<HTTP2ClientTransport.Posix>

struct Boom: Error, Equatable {}

/// Methods that the tests call, each under its own name in one service.
enum Methods {
  static let bytes = RemoteMethod("test.Test", "Bytes", request: .bytes, response: .bytes)
  static let text = RemoteMethod.json("test.Test", "Text", takes: String.self, returns: String.self)
  static let count = RemoteMethod.json("test.Test", "Count", takes: Int.self, returns: Int.self)
  static let blocks = RemoteMethod<Int, [UInt8]>(
    "test.Test", "Blocks", request: .json, response: .bytes)
}

/// Calls `body` with a client of a server on loopback, over HTTP/2, and stops both.
func withPeer(
  _ register: (inout RPCRouter<HTTP2ServerTransport.Posix>) -> Void,
  context: ContextInterceptor = ContextInterceptor(),
  configure: (inout HTTP2ServerTransport.Posix.Config) -> Void = { _ in },
  _ body: (TestPeer, RunningServer) async throws -> Void
) async throws {
  let transport = HTTP2ServerTransport.Posix(
    address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext,
    config: .defaults(configure: configure))
  var router = RPCRouter<HTTP2ServerTransport.Posix>()
  register(&router)
  router.registerInterceptors(pipeline: [.apply(context, to: .all)])
  let server = GRPCServer(transport: transport, router: router)
  let serving = Promise { try await server.serve() }
  guard let address = try await server.listeningAddress?.ipv4 else { throw Boom() }
  try await withClient(port: address.port, context: context) { peer, _ in
    try await body(peer, RunningServer(serving: serving))
  }
  // Not a cancellation: a request that arrives during one, for which no task is left, traps in SwiftNIO.
  server.beginGracefulShutdown()
  _ = await serving.result
}

/// Calls `body` with a client of the server at a port of this machine, and its connections.
func withClient(
  port: Int, context: ContextInterceptor = ContextInterceptor(),
  _ body: (TestPeer, Promise<Void>) async throws -> Void
) async throws {
  let client = GRPCClient(
    transport: try .http2NIOPosix(
      target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext),
    interceptors: [context])
  let running = Promise { try await client.runConnections() }
  do {
    try await body(Peer("127.0.0.1:\(port)", client), running)
  } catch {
    running.cancel()
    throw error
  }
  client.beginGracefulShutdown()
  running.cancel()
  _ = await running.result
}

struct RunningServer {
  let serving: Promise<Void>

  /// Ends the server with its connections, to which no new requests can be on the way.
  func stop() { serving.cancel() }
}

/// Promises that a handler returns, for the test to settle, and the cancellations that reach them.
final class Held<Value: Sendable>: Sendable {
  let started = Recorder<Resolver<Value>>()
  let cancelled = Recorder<Void>()

  func promise() -> Promise<Value> {
    Promise { resolver in
      resolver.onCancel { self.cancelled.record(()) }
      started.record(resolver)
    }
  }
}

func expectRPCError(
  of promise: Promise<some Sendable>, _ code: RPCError.Code, containing text: String = "",
  _ location: Testing.SourceLocation = #_sourceLocation
) async throws {
  let result = await promise.result
  guard case .failure(let error as RPCError) = result else {
    Issue.record("\(result)", sourceLocation: location)
    return
  }
  #expect(error.code == code, "\(error)", sourceLocation: location)
  #expect(text.isEmpty || error.message.contains(text), sourceLocation: location)
}
