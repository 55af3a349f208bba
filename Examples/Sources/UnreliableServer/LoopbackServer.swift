import FlyingFox
import FlyingSocks
import Foundation

/// An HTTP server on the loopback interface that misbehaves on purpose.
///
/// It serves generated files from several mirrors, each at a port that the
/// system picks. Its ``Script`` says when an answer is slow, missing, cut off or
/// wrong; the same script gives the same answers again. Clients that retry get
/// every file in the end.
///
/// ```swift
/// let server = try await LoopbackServer.start(Configuration(fileCount: 20))
/// for file in server.files { print(file.urls, file.size, file.sha256) }
/// await server.stop()
/// ```
public final class LoopbackServer: Sendable {
  private struct Listener: Sendable {
    var server: HTTPServer
    var task: Task<Void, any Error>
  }

  /// The configuration it was started with.
  public var configuration: Configuration { site.configuration }

  /// The mirrors' addresses.
  public let mirrors: [URL]

  /// The files, each with its address on every mirror.
  public let files: [ServedFile]

  private let site: Site
  private let listeners: [Listener]

  private init(site: Site, mirrors: [URL], listeners: [Listener]) {
    self.site = site
    self.mirrors = mirrors
    self.listeners = listeners
    files = site.pages.map { page in
      ServedFile(
        name: page.name,
        urls: mirrors.map { $0.appending(path: "files/\(page.name)") },
        size: page.content.size,
        sha256: page.sha256)
    }
  }

  deinit {
    for listener in listeners { listener.task.cancel() }
  }

  /// Starts a server and returns when all its mirrors listen.
  ///
  /// - Parameter configuration: What to serve, and how badly.
  /// - Returns: The server, which runs until ``stop()`` or until it is deallocated.
  public static func start(
    _ configuration: Configuration = Configuration()
  ) async throws -> LoopbackServer {
    let site = Site(configuration)
    var mirrors: [URL] = []
    var listeners: [Listener] = []
    do {
      for mirror in 0..<configuration.mirrorCount {
        let server = HTTPServer(
          address: try sockaddr_in.inet(ip4: "127.0.0.1", port: 0),
          logger: .disabled,
          handler: ClosureHTTPHandler { site.response(to: $0, mirror: mirror) })
        listeners.append(Listener(server: server, task: Task { try await server.run() }))
        // On a busy machine it may take a while until its task runs.
        try await server.waitUntilListening(timeout: 60)
        mirrors.append(try await address(of: server))
      }
    } catch {
      await stop(listeners)
      throw error
    }
    return LoopbackServer(site: site, mirrors: mirrors, listeners: listeners)
  }

  /// Stops all mirrors and closes their connections.
  ///
  /// Answers that are under way are cut off.
  public func stop() async {
    await Self.stop(listeners)
  }

  /// What the server was asked and what it did, all mirrors together.
  public var tally: Tally {
    site.tallies.reduce(into: Tally()) { $0.add($1) }
  }

  /// What each mirror was asked and what it did.
  public var tallies: [Tally] {
    site.tallies
  }

  /// The files as a list of downloads, one a line: the addresses, the SHA-256
  /// and the name.
  public var manifest: String {
    files.map { file in
      let addresses = file.urls.map(\.absoluteString).joined(separator: " ")
      return "\(addresses) sha256=\(file.sha256) out=\(file.name)\n"
    }.joined()
  }

  private static func stop(_ listeners: [Listener]) async {
    for listener in listeners {
      await listener.server.stop()
      listener.task.cancel()
      _ = await listener.task.result
    }
  }

  private static func address(of server: HTTPServer) async throws -> URL {
    guard case .ip4(_, let port)? = await server.listeningAddress,
      let url = URL(string: "http://127.0.0.1:\(port)/")
    else { throw URLError(.cannotConnectToHost) }
    return url
  }
}
