import FlyingFox
import FlyingSocks
import Foundation

/// An HTTP server on the loopback interface that injects faults.
///
/// It serves generated files from several mirrors, each on a port that the system chooses. A
/// ``Script`` determines which responses are slow, unavailable, truncated, or corrupted; the same
/// script always produces the same faults. A client that retries can download every file.
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

  /// The configuration of the server.
  public var configuration: Configuration { site.configuration }

  /// The URLs of the mirrors.
  public let mirrors: [URL]

  /// The files, each with its URL on every mirror.
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

  /// Starts a server, and returns when all mirrors accept connections.
  ///
  /// - Parameter configuration: The files and the faults.
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
        // On a busy machine, it can take a while until the server's task runs.
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
  /// Responses that are in progress are truncated.
  public func stop() async {
    await Self.stop(listeners)
  }

  /// The counts of requests and faults, for all mirrors together.
  public var tally: Tally {
    site.tallies.reduce(into: Tally()) { $0.add($1) }
  }

  /// The counts of requests and faults, for each mirror.
  public var tallies: [Tally] {
    site.tallies
  }

  /// The files as a list of downloads; each line contains the URLs, the SHA-256 checksum, and the
  /// name.
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
