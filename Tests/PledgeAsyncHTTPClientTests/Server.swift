#if AsyncHTTPClient
  import AsyncHTTPClient
  import Foundation
  import Pledge
  import PledgeTesting

  /// What happened at the server.
  enum ServerEvent: Hashable, Sendable {
    /// A request for this path has arrived.
    case request(String)
    /// The connection on which this path was requested is closed.
    case closed(String)
    /// The client doesn't read for the time being.
    case blocked
  }

  /// Calls `body` with a client and the address of a server on loopback, and closes both.
  ///
  /// `/hello` greets, `/echo` returns the body, `/silent` never answers, `/size/N` sends N bytes as fast as
  /// the client reads, `/part` sends a part and no end, `/status/N` answers with that status, `/redirect`
  /// leads to `/echo`, as does `/early` before it has read the body, and `/upload` doesn't read its body
  /// before the log's gate is open. `/closed` closes the connection instead of answering, `/closed/once`
  /// for its first request only, and `/cut` in the middle of the body.
  func withServer(_ body: (HTTPClient, String, ServerLog) async throws -> Void) async throws {
    let log = ServerLog()
    let server = try LoopbackServer(serving: log.serve)
    var configuration = HTTPClient.Configuration()
    // A server that isn't there fails a request at once.
    configuration.connectionPool.retryConnectionEstablishment = false
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let address = "http://127.0.0.1:\(server.url.port ?? 0)"
    var failure: (any Error)?
    do { try await body(client, address, log) } catch { failure = error }
    try await client.shutdown()
    server.stop()
    if let failure { throw failure }
  }

  /// What happened at a server, and what it waits for.
  final class ServerLog: Sendable {
    private typealias Answer = LoopbackServer.Answer

    private let events = Mutex<Set<ServerEvent>>([])
    /// Each signal lets the server read one upload.
    let gate = DispatchSemaphore(value: 0)

    /// Records an event; returns whether it is the first of its kind.
    @discardableResult
    private func record(_ event: ServerEvent) -> Bool {
      events.withLock { $0.insert(event).inserted }
    }

    /// Returns when this has happened.
    func happens(_ event: ServerEvent) async throws {
      try await waitUntil { events.withLock { $0.contains(event) } }
    }

    @Sendable fileprivate func serve(_ connection: LoopbackServer.Connection) {
      var (path, isFirst, isOpen) = ("", false, true)
      while isOpen {
        let request = connection.readRequest { head in
          path = head.path
          isFirst = record(.request(path))
          if path == "/upload" { gate.wait() }
          if path == "/early" { connection.send(redirection) }
        }
        isOpen = request.map { respond(to: $0, isFirst, on: connection) } ?? false
      }
      record(.closed(path))
    }

    /// Responds to a request; returns whether the connection stays open.
    private func respond(
      to request: LoopbackServer.Request, _ isFirst: Bool, on connection: LoopbackServer.Connection
    ) -> Bool {
      let number = request.path.split(separator: "/").last.flatMap { Int($0) } ?? 0
      switch request.path {
      case "/hello": connection.send(answer(Data("hello".utf8)))
      case "/echo": connection.send(answer(request.body))
      case "/upload": connection.send(answer(Data("\(request.body.count)".utf8)))
      case "/redirect": connection.send(redirection)
      case "/early": break
      case "/part":
        connection.sendHead(status: 200, headers: ["Transfer-Encoding": "chunked"])
        connection.send(Data("4\r\npart\r\n".utf8))
        connection.waitForHangUp()
        return false
      case "/closed/once" where !isFirst: connection.send(answer(Data("open".utf8)))
      case "/closed", "/closed/once": return false
      case "/cut":
        connection.send(Answer(Data("part part".utf8), breaksAfter: 4))
        return false
      case _ where request.path.hasPrefix("/size/"):
        connection.sendHead(
          status: 200, headers: ["Connection": "keep-alive", "Content-Length": "\(number)"])
        // As fast as the client reads.
        for start in stride(from: 0, to: number, by: 1 << 16) {
          let piece = Data(repeating: 7, count: min(1 << 16, number - start))
          guard connection.send(piece, willWait: { record(.blocked) }) else { return false }
        }
      case _ where request.path.hasPrefix("/status/"):
        connection.send(answer(Data("status".utf8), status: number))
      default:
        connection.waitForHangUp()
        return false
      }
      return true
    }

    /// Returns an answer after which the connection stays open.
    private func answer(_ body: Data, status: Int = 200) -> Answer {
      Answer(status: status, headers: ["Connection": "keep-alive"], body)
    }

    private var redirection: Answer {
      Answer(status: 307, headers: ["Connection": "keep-alive", "Location": "/echo"])
    }
  }
#endif
