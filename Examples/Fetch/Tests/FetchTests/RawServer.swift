import FetchTestSupport
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server on this machine that sends bytes specified by a test, with or without TLS.
final class RawServer: Sendable {
  typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>
  typealias Inbound = NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
  typealias Outbound = NIOAsyncChannelOutboundWriter<ByteBuffer>

  /// The head of a request.
  struct Request: Sendable {
    /// The lines before the first empty line.
    var lines: [String]

    /// The method, the URL, and the version.
    var line: String { lines.first ?? "" }

    /// Reads the head of a request; nil at the end of the connection.
    init?(from inbound: inout Inbound) async throws {
      var head = ""
      while !head.hasSuffix("\r\n\r\n") {
        guard let bytes = try await inbound.next() else { return nil }
        head += String(buffer: bytes)
      }
      lines = head.components(separatedBy: "\r\n").filter { !$0.isEmpty }
    }

    func field(_ name: String) -> String? {
      lines.dropFirst().lazy.compactMap { line -> String? in
        let parts = line.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == name else { return nil }
        return parts[1].trimmingCharacters(in: .whitespaces)
      }.first
    }
  }

  /// A separate event loop, because those of the program can be blocked by a test.
  static let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

  /// Runs the tasks of servers on their event loop: other tests can keep the threads on which tasks
  /// run otherwise for longer than a client waits.
  private final class LoopExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      RawServer.loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  private static let executor = LoopExecutor()

  /// The open connections of a server, and the requests that have arrived on them.
  private final class Connections: Sendable {
    private struct State {
      var requests: [Request] = []
      var tasks: [Task<Void, Never>] = []
      var isStopped = false
    }

    private let state = Mutex(State())

    var requests: [Request] { state.withLock { $0.requests } }

    func record(_ request: Request) { state.withLock { $0.requests.append(request) } }

    /// Runs `handle` with a connection, and closes that.
    ///
    /// Each connection needs this, even one that arrives while the server stops: a connection that is
    /// released without having been closed ends the process.
    func add(_ connection: Connection, handle: @escaping Handler) {
      // A client that breaks a connection ends that connection, not the server.
      let task = Task<Void, Never>(executorPreference: RawServer.executor) {
        try? await connection.executeThenClose { inbound, outbound in
          var inbound = inbound.makeAsyncIterator()
          try await handle(connection.channel, &inbound, outbound, self)
        }
      }
      let isStopped = state.withLock { state in
        state.tasks.append(task)
        return state.isStopped
      }
      if isStopped { task.cancel() }
    }

    /// Cancels the tasks of all connections, also of those that arrive later, and returns them.
    @discardableResult func stop() -> [Task<Void, Never>] {
      let tasks = state.withLock { state in
        state.isStopped = true
        return state.tasks
      }
      for task in tasks { task.cancel() }
      return tasks
    }
  }

  private typealias Handler =
    @Sendable (
      any Channel, inout Inbound, Outbound, Connections
    ) async throws -> Void

  /// The port on the requested interface.
  let port: Int
  private let listener: any Channel
  private let connections: Connections

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - host: The address on which the server listens.
  ///   - tls: The certificate and its key.
  ///   - serve: Handles a request; when it returns, the connection is closed.
  convenience init(
    host: String = "127.0.0.1", tls: NIOSSLContext? = nil,
    _ serve: @escaping @Sendable (Request, inout Inbound, Outbound) async throws -> Void
  ) async throws {
    try await self.init(host: host, tls: tls) { _, inbound, outbound, connections in
      guard let request = try await Request(from: &inbound) else { return }
      connections.record(request)
      try await serve(request, &inbound, outbound)
    }
  }

  /// Starts a server that handles each connection with `handle`, and closes it when that returns.
  private init(host: String, tls: NIOSSLContext?, handle: @escaping Handler) async throws {
    let connections = Connections()
    self.connections = connections
    listener = try await ServerBootstrap(group: Self.loop)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls {
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
          }
          connections.add(try Connection(wrappingChannelSynchronously: channel), handle: handle)
        }
      }
      .bind(host: host, port: 0).get()
    port = listener.localAddress?.port ?? 0
  }

  /// Starts a server that responds to each request with the bytes of `answer`.
  convenience init(
    host: String = "127.0.0.1", tls: NIOSSLContext? = nil,
    answer: @escaping @Sendable (Request) -> String
  ) async throws {
    try await self.init(host: host, tls: tls) { request, _, outbound in
      try await outbound.write(ByteBuffer(string: answer(request)))
    }
  }

  /// Starts a server that responds to a request with `count` pieces, and calls `note` after the
  /// network has accepted each of them.
  static func sending(
    _ piece: ByteBuffer, count: Int, note: @escaping @Sendable () -> Void
  ) async throws -> RawServer {
    try await RawServer(host: "127.0.0.1", tls: nil) { channel, inbound, _, _ in
      _ = try await inbound.next()
      let length = count * piece.readableBytes
      let head = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n")
      try await channel.writeAndFlush(head)
      for _ in 0..<count {
        // Not with the writer, which accepts more than the network does while its thread is busy.
        try await channel.writeAndFlush(piece)
        note()
      }
    }
  }

  /// Starts a server that responds with `text` to the first bytes on a connection.
  static func plain(_ text: String) async throws -> RawServer {
    try await RawServer(host: "127.0.0.1", tls: nil) { _, inbound, outbound, _ in
      _ = try await inbound.next()
      try await outbound.write(ByteBuffer(string: text))
    }
  }

  /// Starts a server that sends the head of a response, and then reads nothing more.
  static func deaf(tls: NIOSSLContext) async throws -> RawServer {
    try await RawServer(host: "127.0.0.1", tls: tls) { channel, inbound, _, _ in
      _ = try await inbound.next()
      try await channel.setOption(.autoRead, value: false).get()
      let head = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
      try await channel.writeAndFlush(head)
      for await _ in AsyncStream<Void>.makeStream().stream {}
    }
  }

  deinit {
    listener.close(promise: nil)
    connections.stop()
  }

  /// The requests that have arrived so far.
  var requests: [Request] { connections.requests }

  func stop() async {
    listener.close(promise: nil)
    // This future never fails.
    _ = try? await listener.closeFuture.get()
    for task in connections.stop() { await task.value }
  }

  // MARK: - Proxies

  /// Starts an HTTP proxy, which creates tunnels.
  ///
  /// - Parameters:
  ///   - password: The value of `Proxy-Authorization` that it requires.
  ///   - port: The port on this machine to which all tunnels lead; nil for the requested servers.
  static func proxy(
    password: String? = nil, leadingTo port: Int? = nil
  ) async throws -> RawServer {
    try await RawServer { request, inbound, outbound in
      let words = request.line.split(separator: " ").map(String.init)
      if let password, request.field("proxy-authorization") != password {
        try await outbound.write(
          ByteBuffer(string: "HTTP/1.1 407 Who\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
        return
      }
      guard words[0] == "CONNECT", let url = URL(string: "tunnel://\(words[1])"),
        let host = port == nil ? url.host() : "127.0.0.1"
      else {
        try await outbound.write(
          ByteBuffer(string: "HTTP/1.1 400 Bad\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
        return
      }
      let server = try await connect(host, port ?? url.port ?? 80)
      try await server.executeThenClose { answers, requests in
        try await outbound.write(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n"))
        async let forward: Void = {
          for try await bytes in answers { try await outbound.write(bytes) }
        }()
        while let bytes = try await inbound.next() { try await requests.write(bytes) }
        try await forward
      }
    }
  }

  private static func connect(_ host: String, _ port: Int) async throws -> Connection {
    try await ClientBootstrap(group: loop).connect(host: host, port: port) { channel in
      channel.eventLoop.makeCompletedFuture {
        try Connection(wrappingChannelSynchronously: channel)
      }
    }
  }
}

/// A self-signed certificate that openssl creates.
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
