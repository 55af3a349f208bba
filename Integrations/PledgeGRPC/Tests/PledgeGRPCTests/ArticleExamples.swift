import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Pledge
import PledgeGRPC
import PledgeTesting
import Testing

/// The examples of the article.
///
/// Those that don't name an address run with a server on loopback.
@Suite private struct ArticleExamples {
  @Test func callsStreamsAndHandlers() async throws {
    try await withPeer {
      Images().registerMethods(with: &$0)
    } _: { peer, _ in
      let budget = RetryBudget(capacity: 10, tokensPerSuccess: 0.1)
      let hedges = RetryBudget(capacity: 10, tokensPerSuccess: 0.01)
      let images = Self.calls(peer, Order(), Servers(peer: peer), budget, hedges)
      for image in images { try await expectFulfillment(of: image) }
      let database = Database()
      for stream in Self.streams(peer, "folder", database, File(), File()) {
        try await expectFulfillment(of: stream)
      }
      #expect(database.inserted.count == 2)
      let scanned = peer.call(
        Self.scan, writing: { requests in requests.send([1]).then { requests.send([0]) } })
      try await expectFulfillment(of: scanned)
    }
  }

  struct Order: Codable {
    var url = ""
    var size = 0
  }

  struct Image: Codable {
    func resized(to size: Int) -> Image { self }
  }

  struct File: Codable {}
  struct Receipt: Codable {}
  struct HelloRequest: Codable { let name: String }
  struct HelloReply: Codable {}

  struct Database: Sendable {
    let inserted = CallCounter()

    func insert(_ file: File) -> Promise<Void> {
      inserted.call()
      return Promise()
    }
  }

  struct Servers: Sendable {
    let peer: Peer<HTTP2ClientTransport.Posix>
    func next() -> Peer<HTTP2ClientTransport.Posix> { peer }
  }

  /// As what the generator of gRPC makes.
  enum Greeter {
    struct Client<Transport: ClientTransport> {
      init(wrapping client: GRPCClient<Transport>) {}
      func sayHello(_ request: HelloRequest, options: CallOptions) async throws -> HelloReply {
        HelloReply()
      }
    }
  }

  static func load(_ url: String) -> Promise<Image> { .value(Image()) }
  static func store(_ part: File) -> Promise<Void> { Promise() }
  static func files(in folder: String) -> [File] { [File(), File()] }
  static func greet(_ request: HelloRequest) -> Promise<HelloReply> { .value(HelloReply()) }

  static let resize = RemoteMethod.json(
    "images.Resizer", "Resize", takes: Order.self, returns: Image.self)
  static let list = RemoteMethod.json(
    "images.Files", "List", takes: String.self, returns: File.self)
  static let upload = RemoteMethod.json(
    "images.Files", "Upload", takes: File.self, returns: Receipt.self)
  static let scan = RemoteMethod<[UInt8], Receipt>(
    "images.Scanner", "Scan", request: .bytes, response: .json)

  static func generated() throws -> [Promise<Void>] {
    let client = GRPCClient(
      transport: try .http2NIOPosix(
        target: .dns(host: "10.0.0.7", port: 4000), transportSecurity: .plaintext))
    let connections = Promise { try await client.runConnections() }
    let peer = Peer("10.0.0.7:4000", client)
    let greeter = Greeter.Client(wrapping: client)

    let greeting = peer.call(within: .seconds(2)) { options in
      try await greeter.sayHello(HelloRequest(name: "Ada"), options: options)
    }
    return [connections, greeting.asVoid()]
  }

  static func calls(
    _ peer: Peer<HTTP2ClientTransport.Posix>, _ order: Order, _ servers: Servers,
    _ budget: RetryBudget, _ hedges: RetryBudget
  ) -> [Promise<Image>] {
    let image = peer.call(resize, order, within: .seconds(30))

    let repeated = Promise.retry(
      .exponential(attempts: 5, from: .milliseconds(100)).withBudget(budget)
    ) {
      Promise.hedged(delay: .milliseconds(200), budget: hedges) {
        servers.next().call(resize, order)
      }
    }
    return [image, repeated]
  }

  static func streams(
    _ peer: Peer<HTTP2ClientTransport.Posix>, _ folder: String, _ database: Database,
    _ header: File, _ content: File
  ) -> [Promise<Void>] {
    let listed = peer.stream(list, folder) { file in database.insert(file) }

    let receipt = peer.call(
      upload,
      writing: { requests in
        requests.send(header).then { requests.send(content) }
      })
    return [listed, receipt.asVoid()]
  }

  struct Images: RegistrableRPCService {
    func registerMethods(with router: inout RPCRouter<some ServerTransport>) {
      router.register(resize) { order, context in
        load(order.url).map { image in image.resized(to: order.size) }
      }
      router.registerStream(
        list,
        writing: { folder, responses, context in
          Promise().reduce(files(in: folder)) { _, file in responses.send(file) }
        })
      router.registerStream(
        upload,
        reading: { parts, context in
          parts.forEach { part in store(part) }.map { Receipt() }
        })
      router.registerStream(
        scan,
        reading: { parts, context in
          Promise {
            for try await part in parts where part.contains(0) { break }
            return Receipt()
          }
        })
    }
  }

  static func serve() async throws {
    let listener = HTTP2ServerTransport.Posix(
      address: .ipv4(host: "0.0.0.0", port: 4000), transportSecurity: .plaintext)
    let server = GRPCServer(transport: listener, services: [Images()])
    try await server.serve()
  }

  static func sayHello(request: HelloRequest, context: ServerContext) async throws -> HelloReply {
    try await context.serve { greet(request) }
  }

  enum Request {
    @TaskLocal static var id: String?
  }

  static func context(
    _ transport: HTTP2ClientTransport.Posix, _ listener: HTTP2ServerTransport.Posix
  ) -> (GRPCClient<HTTP2ClientTransport.Posix>, GRPCServer<HTTP2ServerTransport.Posix>) {
    let context = ContextInterceptor(.taskLocal(Request.$id, as: "request-id"), .serviceContext)
    let client = GRPCClient(transport: transport, interceptors: [context])
    let server = GRPCServer(transport: listener, services: [Images()], interceptors: [context])
    return (client, server)
  }
}
