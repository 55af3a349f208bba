import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server on this machine that sends bytes specified by a test, with or without TLS, until the
/// tests end.
///
/// All of it runs on an event loop of its own, because those of the program can be blocked by a test,
/// and other tests can keep the threads of tasks for longer than a client waits.
final class RawServer: Sendable {
  struct Request: Sendable {
    /// The lines before the first empty line.
    var lines: [String]

    /// The method, the URL, and the version.
    var line: String { lines.first ?? "" }

    func field(_ name: String) -> String? {
      lines.dropFirst().lazy.compactMap { line -> String? in
        let parts = line.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == name else { return nil }
        return parts[1].trimmingCharacters(in: .whitespaces)
      }.first
    }
  }

  /// A connection, which stays open until one of its sides closes it.
  final class Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    let channel: any Channel
    /// Receives all bytes in place of the server.
    var receive: ((ByteBuffer) -> Void)?
    private var head = ""
    private let serve: (Request, Connection) -> Void

    init(_ channel: any Channel, _ serve: @escaping (Request, Connection) -> Void) {
      (self.channel, self.serve) = (channel, serve)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let bytes = unwrapInboundIn(data)
      if let receive { return receive(bytes) }
      head += String(buffer: bytes)
      guard head.hasSuffix("\r\n\r\n") else { return }
      let request = Request(lines: head.components(separatedBy: "\r\n").filter { !$0.isEmpty })
      head = ""
      serve(request, self)
    }

    /// Sends bytes, and then closes the connection if `isLast` is true.
    func send(_ bytes: ByteBuffer, isLast: Bool = false) {
      let sent = channel.writeAndFlush(bytes)
      if isLast { sent.whenComplete { [channel] _ in channel.close(promise: nil) } }
    }

    func send(_ text: String, isLast: Bool = false) {
      send(ByteBuffer(string: text), isLast: isLast)
    }
  }

  static let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

  /// The requests that have arrived so far.
  private final class Arrivals: Sendable { let requests = Mutex<[Request]>([]) }

  static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

  /// The port on the requested interface.
  let port: Int
  private let arrivals = Arrivals()

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - host: The address on which the server listens.
  ///   - tls: The certificate and its key.
  ///   - serve: Is called with each request, on the event loop.
  ///   - begin: Is called with each connection, on the event loop.
  init(
    host: String = "127.0.0.1", tls: NIOSSLContext? = nil,
    serve: @escaping @Sendable (Request, Connection) -> Void,
    begin: @escaping @Sendable (Connection) -> Void = { _ in }
  ) async throws {
    let listener = try await ServerBootstrap(group: Self.loop)
      .childChannelInitializer { [arrivals] channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
          let connection = Connection(channel) { request, connection in
            arrivals.requests.withLock { $0.append(request) }
            serve(request, connection)
          }
          begin(connection)
          try pipeline.addHandler(connection)
        }
      }
      .bind(host: host, port: 0).get()
    port = listener.localAddress?.port ?? 0
  }

  /// Starts a server that responds to each request with the bytes of `answer`, and closes the
  /// connection.
  convenience init(
    host: String = "127.0.0.1", tls: NIOSSLContext? = nil,
    answer: @escaping @Sendable (Request) -> String
  ) async throws { try await self.init(host: host, tls: tls) { $1.send(answer($0), isLast: true) } }

  /// The requests that have arrived so far.
  var requests: [Request] { arrivals.requests.withLock { $0 } }

  // MARK: - Special servers

  /// Starts a server that responds to a request with `count` pieces, as fast as the client reads.
  static func sending(_ piece: ByteBuffer, count: Int) async throws -> RawServer {
    @Sendable func send(_ rest: Int, _ channel: any Channel) {
      guard rest > 0 else { return channel.close(promise: nil) }
      channel.writeAndFlush(piece).whenSuccess { send(rest - 1, channel) }
    }
    return try await RawServer { _, connection in
      let length = count * piece.readableBytes
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n")
      send(count, connection.channel)
    }
  }

  /// Starts an HTTP proxy, which creates tunnels.
  ///
  /// - Parameters:
  ///   - password: The value of `Proxy-Authorization` that it requires.
  ///   - port: The port on this machine to which all tunnels lead; nil for the requested servers.
  static func proxy(
    password: String? = nil, leadingTo port: Int? = nil
  ) async throws -> RawServer {
    try await RawServer { request, client in
      let words = request.line.split(separator: " ")
      guard password == nil || request.field("proxy-authorization") == password else {
        client.send("HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n", isLast: true)
        return
      }
      guard words[0] == "CONNECT", let url = URL(string: "tunnel://\(words[1])") else {
        client.send("HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n", isLast: true)
        return
      }
      let host = port == nil ? url.host() ?? "" : "127.0.0.1"
      let near = client.channel
      client.receive = { _ in near.close(promise: nil) }
      ClientBootstrap(group: loop).channelInitializer { far in
        far.eventLoop.makeCompletedFuture {
          let server = Connection(far) { _, _ in }
          server.receive = { near.writeAndFlush($0, promise: nil) }
          try far.pipeline.syncOperations.addHandler(server)
        }
      }
      .connect(host: host, port: port ?? url.port ?? 80)
      .assumeIsolated()
      .whenComplete { result in
        guard case .success(let far) = result else { return near.close(promise: nil) }
        client.receive = { far.writeAndFlush($0, promise: nil) }
        client.send("HTTP/1.1 200 OK\r\n\r\n")
        far.closeFuture.whenComplete { _ in near.close(promise: nil) }
        near.closeFuture.whenComplete { _ in far.close(promise: nil) }
      }
    }
  }
}

struct Certificate {
  /// The path of the certificate, in PEM format.
  let path: String
  /// The TLS context of a server with this certificate.
  let context: NIOSSLContext

  static let isAvailable = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].contains {
    FileManager.default.isExecutableFile(atPath: $0 + "/openssl")
  }

  /// Creates a certificate in `folder`.
  ///
  /// - Parameter names: The names of the server, as in `DNS:localhost,IP:127.0.0.1`.
  init(for names: String, in folder: ScratchFolder) throws {
    let key = folder.path("key.pem")
    path = folder.path("certificate.pem")
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
      "-nodes", "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=\(names)",
      "-keyout", key, "-out", path,
    ]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    context = try NIOSSLContext(
      configuration: .makeServerConfiguration(
        certificateChain: NIOSSLCertificate.fromPEMFile(path).map { .certificate($0) },
        privateKey: .privateKey(NIOSSLPrivateKey(file: key, format: .pem))))
  }
}
