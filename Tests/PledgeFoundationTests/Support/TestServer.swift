/// A server whose answers depend on the path.
///
/// | path | behavior |
/// |---|---|
/// | `/ok` | 200 with `hello` |
/// | `/bytes/N` | 200 with N bytes |
/// | `/kept` | like `/ok`, but keeps the connection open for the next request |
/// | `/status/N` | status N with the body `status N`; `?after=S` adds a Retry-After of S |
/// | `/challenge` | 401 that requests a user name and a password |
/// | `/redirect` | 302 to `/ok` |
/// | `/elsewhere` | 302 to `/echo` under another name of the host |
/// | `/nowhere` | 302 without a Location |
/// | `/to?LOCATION` | 302 with this Location |
/// | `/see-other` | 303 to `/echo` |
/// | `/hop/N/PATH` | N times 307, then PATH; keeps the connection open |
/// | `/echo` | 200 with the body of the request |
/// | `/truncated` | announces 1000 bytes, sends 10, and closes the connection |
/// | `/hang` | never responds |
/// | `/slow` | announces 1000 bytes, sends 10, and waits until the client closes the connection |
/// | `/steps/N` | N pieces of 1000 bytes, one for each `step()`; `?chunked` omits the length |
final class TestServer: Sendable {
  /// An event on the server that tests can wait for.
  enum Event: Hashable, Sendable {
    case arrived(String)
    case hungUp(String)
  }

  private let server: LoopbackServer
  private let routes = Routes()

  init() throws { server = try LoopbackServer(serving: routes.serve) }

  deinit { server.stop() }

  var port: Int { server.url.port ?? 0 }

  func url(_ path: String) throws -> URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
    return url
  }

  /// The number of open connections.
  var openConnections: Int { routes.connections.withLock { $0 } }

  /// The number of connections that were accepted.
  var acceptedConnections: Int { routes.accepted.count }

  /// Lets `/steps` send its next piece.
  func step() { routes.steps.signal() }

  /// Returns a guarantee that is fulfilled by the next `event`; each event fulfills one guarantee.
  func next(_ event: Event) -> Guarantee<Void> {
    let guarantee = Guarantee<Void> { resolver in
      let happened = routes.events.withLock { events in
        var entry = events[event] ?? (0, [])
        defer { events[event] = entry }
        guard entry.count == 0 else {
          entry.count -= 1
          return true
        }
        entry.waiting.append(resolver)
        return false
      }
      if happened { resolver.fulfill() }
    }
    // The server can end before the event.
    guarantee.promise.ignoreErrors()
    return guarantee
  }
}

/// What the server does on its connections.
private final class Routes: Sendable {
  typealias Answer = LoopbackServer.Answer

  let steps = DispatchSemaphore(value: 0)
  let events = Mutex<[TestServer.Event: (count: Int, waiting: [GuaranteeResolver<Void>])]>([:])
  let connections = Mutex(0)
  let accepted = CallCounter()

  @Sendable func serve(_ connection: LoopbackServer.Connection) {
    accepted.call()
    connections.withLock { $0 += 1 }
    defer { connections.withLock { $0 -= 1 } }
    while let request = connection.readRequest() {
      note(.arrived(request.path))
      if let answer = answer(to: request) {
        connection.send(answer)
        if answer.headers["Connection"] == "keep-alive" { continue }
      }
      switch request.path {
      case "/hang", "/slow":
        connection.waitForHangUp()
        note(.hungUp(request.path))
      case _ where request.path.hasPrefix("/steps/"): sendSteps(request, on: connection)
      default: break
      }
      return connection.finish()
    }
  }

  private func note(_ event: TestServer.Event) {
    let resolver: GuaranteeResolver<Void>? = events.withLock { events in
      var entry = events[event] ?? (0, [])
      defer { events[event] = entry }
      guard entry.waiting.isEmpty else { return entry.waiting.removeFirst() }
      entry.count += 1
      return nil
    }
    resolver?.fulfill()
  }

  /// Returns the answer to a request; nil if it isn't sent at once.
  private func answer(to request: LoopbackServer.Request) -> Answer? {
    let parts = request.path.split(separator: "/").map(String.init)
    let number = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    let (hello, thousand) = (Data("hello".utf8), Data(repeating: 0x78, count: 1000))
    switch parts.first {
    case "ok": return Answer(hello)
    case "kept": return Answer(headers: ["Connection": "keep-alive"], hello)
    case "challenge":
      let challenge = ["WWW-Authenticate": "Basic realm=\"here\""]
      return Answer(status: 401, headers: challenge, Data("who?".utf8))
    case "redirect": return redirect(to: "/ok")
    case "elsewhere": return redirect(to: "http://localhost:\(request.port)/echo")
    case "nowhere": return Answer(status: 302)
    case "to": return redirect(to: request.query)
    case "see-other": return redirect(303, to: "/echo")
    case "hop":
      let rest = parts.dropFirst(2).joined(separator: "/")
      var answer = redirect(307, to: number > 1 ? "/hop/\(number - 1)/\(rest)" : "/\(rest)")
      answer.headers["Connection"] = "keep-alive"
      return answer
    case "bytes": return Answer(Data(repeating: 0x78, count: number))
    case "status":
      var answer = Answer(status: number, Data("status \(number)".utf8))
      if request.query.hasPrefix("after=") {
        answer.headers["Retry-After"] = request.query.dropFirst(6).removingPercentEncoding
      }
      return answer
    case "echo":
      var answer = Answer(headers: ["X-Method": request.method], request.body)
      let fields = [
        "Type": "content-type", "Encoding": "transfer-encoding", "Length": "content-length",
        "Authorization": "authorization", "Cookie": "cookie",
      ]
      for (name, field) in fields { answer.headers["X-\(name)"] = request.headers[field] ?? "none" }
      return answer
    case "truncated", "slow": return Answer(thousand, breaksAfter: 10)
    case "hang", "steps": return nil
    default: return Answer(status: 404, Data("not here".utf8))
    }
  }

  private func redirect(_ status: Int = 302, to location: String) -> Answer {
    Answer(status: status, headers: ["Location": location])
  }

  private func sendSteps(
    _ request: LoopbackServer.Request, on connection: LoopbackServer.Connection
  ) {
    let count = Int(request.path.dropFirst("/steps/".count)) ?? 0
    let isChunked = request.query == "chunked"
    connection.sendHead(
      status: 200,
      headers: isChunked
        ? ["Transfer-Encoding": "chunked"] : ["Content-Length": "\(1000 * count)"])
    let piece = String(repeating: "x", count: 1000)
    for _ in 0..<count {
      steps.wait()
      connection.send(Data((isChunked ? "3e8\r\n\(piece)\r\n" : piece).utf8))
    }
    if isChunked { connection.send(Data("0\r\n\r\n".utf8)) }
  }
}

extension LoopbackServer.Request {
  /// The port of the server, which the client names.
  fileprivate var port: String { headers["host"]?.components(separatedBy: ":").last ?? "" }
}
