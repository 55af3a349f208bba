/// A small HTTP/1.1 server on 127.0.0.1 in this process, with one thread per connection.
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
final class LoopbackServer: Sendable {
  struct Request: Sendable {
    var method = ""
    var path = ""
    var query = ""
    var headers: [String: String] = [:]
    var body = Data()
  }

  /// An event on the server that tests can wait for.
  enum Event: Hashable, Sendable {
    case arrived(String)
    case hungUp(String)
  }

  let port: UInt16
  private let listener: Int32
  private let steps = DispatchSemaphore(value: 0)
  private let events = Mutex<[Event: (count: Int, waiting: [GuaranteeResolver<Void>])]>([:])
  private let connections = Mutex(0)
  private let accepted = CallCounter()

  init() throws {
    let closeOnExec: Int32 = 0o2_000_000
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | closeOnExec, 0)
    guard listener >= 0 else { throw POSIXError(.EMFILE) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 128) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    guard bound else { throw POSIXError(.EADDRINUSE) }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [weak self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0, let self else {
          close(client)
          close(listener)
          return
        }
        self.connections.withLock { $0 += 1 }
        self.accepted.call()
        Thread.detachNewThread { self.serve(client) }
      }
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  func url(_ path: String) throws -> URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
    return url
  }

  /// The number of open connections.
  var openConnections: Int { connections.withLock { $0 } }

  /// The number of connections that were accepted.
  var acceptedConnections: Int { accepted.count }

  /// Lets `/steps` send its next piece.
  func step() { steps.signal() }

  /// Returns a guarantee that is fulfilled by the next `event`; each event fulfills one guarantee.
  func next(_ event: Event) -> Guarantee<Void> {
    let guarantee = Guarantee<Void> { resolver in
      let happened = events.withLock { events in
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

  private func note(_ event: Event) {
    let resolver: GuaranteeResolver<Void>? = events.withLock { events in
      var entry = events[event] ?? (0, [])
      defer { events[event] = entry }
      guard entry.waiting.isEmpty else { return entry.waiting.removeFirst() }
      entry.count += 1
      return nil
    }
    resolver?.fulfill()
  }
}

extension LoopbackServer {
  private func serve(_ client: Int32) {
    let connection = Connection(descriptor: client)
    while let request = connection.readRequest() {
      note(.arrived(request.path))
      answer(request, on: connection)
      guard request.path != "/kept", !request.path.hasPrefix("/hop") else { continue }
      connection.finish()
      break
    }
    close(client)
    connections.withLock { $0 -= 1 }
  }

  private func answer(_ request: Request, on connection: Connection) {
    let parts = request.path.split(separator: "/").map(String.init)
    let number = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    switch parts.first {
    case "ok": connection.send(status: 200, body: Data("hello".utf8))
    case "kept":
      connection.sendHead(status: 200, headers: ["Content-Length: 5", "Connection: keep-alive"])
      connection.send(Data("hello".utf8))
    case "challenge":
      connection.send(
        status: 401, headers: ["WWW-Authenticate: Basic realm=\"here\""], body: Data("who?".utf8))
    case "elsewhere":
      connection.send(status: 302, headers: ["Location: http://localhost:\(port)/echo"])
    case "nowhere": connection.send(status: 302)
    case "to": connection.send(status: 302, headers: ["Location: \(request.query)"])
    case "hop":
      let rest = parts.dropFirst(2).joined(separator: "/")
      let target = number > 1 ? "/hop/\(number - 1)/\(rest)" : "/\(rest)"
      connection.sendHead(
        status: 307,
        headers: ["Location: \(target)", "Content-Length: 0", "Connection: keep-alive"])
    case "bytes": connection.send(status: 200, body: Data(repeating: 0x78, count: number))
    case "status":
      let after = request.query.hasPrefix("after=") ? request.query.dropFirst(6) : nil
      let headers = after.map { ["Retry-After: \($0.removingPercentEncoding ?? "")"] } ?? []
      connection.send(status: number, headers: headers, body: Data("status \(number)".utf8))
    case "redirect": connection.send(status: 302, headers: ["Location: /ok"])
    case "echo":
      let sent = [
        "Type": "content-type", "Encoding": "transfer-encoding", "Length": "content-length",
        "Authorization": "authorization", "Cookie": "cookie",
      ]
      .map { "X-\($0): \(request.headers[$1] ?? "none")" }
      connection.send(
        status: 200, headers: ["X-Method: \(request.method)"] + sent, body: request.body)
    case "see-other": connection.send(status: 303, headers: ["Location: /echo"])
    case "truncated":
      connection.sendHead(status: 200, headers: ["Content-Length: 1000"])
      connection.send(Data(repeating: 0x78, count: 10))
    case "hang":
      connection.waitForHangUp()
      note(.hungUp(request.path))
    case "slow":
      connection.sendHead(status: 200, headers: ["Content-Length: 1000"])
      connection.send(Data(repeating: 0x78, count: 10))
      connection.waitForHangUp()
      note(.hungUp(request.path))
    case "steps": sendSteps(number, chunked: request.query == "chunked", on: connection)
    default: connection.send(status: 404, body: Data("not here".utf8))
    }
  }

  private func sendSteps(_ count: Int, chunked: Bool, on connection: Connection) {
    let piece = Data(repeating: 0x78, count: 1000)
    connection.sendHead(
      status: 200,
      headers: [chunked ? "Transfer-Encoding: chunked" : "Content-Length: \(1000 * count)"])
    for _ in 0..<count {
      steps.wait()
      if chunked { connection.send(Data("3e8\r\n".utf8)) }
      connection.send(piece)
      if chunked { connection.send(Data("\r\n".utf8)) }
    }
    if chunked { connection.send(Data("0\r\n\r\n".utf8)) }
  }
}

private struct Connection {
  let descriptor: Int32

  func readRequest() -> LoopbackServer.Request? {
    var received = Data()
    let end = Data("\r\n\r\n".utf8)
    var head = received.range(of: end)
    while head == nil {
      guard let more = receive() else { return nil }
      received += more
      head = received.range(of: end)
    }
    guard let head else { return nil }
    var request = LoopbackServer.Request()
    let lines = String(decoding: received[..<head.lowerBound], as: UTF8.self)
      .components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count == 3 else { return nil }
    request.method = String(words[0])
    let target = words[1].split(separator: "?", maxSplits: 1)
    request.path = String(target[0])
    request.query = target.count > 1 ? String(target[1]) : ""
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      let name = line[..<colon].lowercased()
      request.headers[name] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    if request.headers["expect"] != nil { send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    request.body = received[head.upperBound...]
    let length = Int(request.headers["content-length"] ?? "0") ?? 0
    while request.body.count < length {
      guard let more = receive() else { return nil }
      request.body += more
    }
    if request.headers["transfer-encoding"] == "chunked" {
      while request.body.suffix(5) != Data("0\r\n\r\n".utf8) {
        guard let more = receive() else { return nil }
        request.body += more
      }
      // The bodies of the tests contain no line breaks.
      let lines = String(decoding: request.body, as: UTF8.self).components(separatedBy: "\r\n")
      let pieces = stride(from: 1, to: lines.count, by: 2).map { lines[$0] }
      request.body = Data(pieces.joined().utf8)
    }
    return request
  }

  func send(status: Int, headers: [String] = [], body: Data = Data()) {
    sendHead(status: status, headers: headers + ["Content-Length: \(body.count)"])
    send(body)
  }

  func sendHead(status: Int, headers: [String]) {
    let hasConnection = headers.contains { $0.hasPrefix("Connection:") }
    let lines = ["HTTP/1.1 \(status) Some"] + (hasConnection ? [] : ["Connection: close"]) + headers
    send(Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
  }

  func send(_ data: Data) {
    data.withUnsafeBytes { bytes in
      var sent = 0
      while sent < bytes.count {
        let count = Glibc.send(
          descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent,
          Int32(MSG_NOSIGNAL))
        guard count > 0 else { return }
        sent += count
      }
    }
  }

  /// Blocks until the client closes its end.
  func waitForHangUp() { while receive() != nil {} }

  /// Sends the remaining data, and waits until the client has received it.
  func finish() {
    shutdown(descriptor, Int32(SHUT_WR))
    waitForHangUp()
  }

  private func receive() -> Data? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? Data(buffer[..<count]) : nil
  }
}
