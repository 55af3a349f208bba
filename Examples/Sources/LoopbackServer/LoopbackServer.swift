import Foundation
import Pledge

/// A small HTTP server for the examples, on a port of this machine that the system chooses.
///
/// Each connection has a thread, and serves one request.
public final class LoopbackServer: Sendable {
  /// What the server sends for a request.
  public struct Answer: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header fields.
    public var headers: [String: String]
    /// The body.
    public var body: Data
    /// The number of bytes of the body after which the connection breaks; nil for none.
    public var breaksAfter: Int?
    /// The pause before each piece of 16 KiB, in seconds.
    public var pause: Double

    /// Creates an answer.
    public init(
      status: Int = 200, headers: [String: String] = [:], _ body: Data = Data(),
      breaksAfter: Int? = nil, pause: Double = 0
    ) {
      self.status = status
      self.headers = headers
      self.body = body
      self.breaksAfter = breaksAfter
      self.pause = pause
    }
  }

  /// The URL of the server.
  public let url: URL

  private let listener: Int32
  private let answer: @Sendable (_ path: String) async throws -> Answer

  /// Starts a server, which runs until the program ends.
  ///
  /// **Execution.** `answer` runs in a task for each request. If it throws, the server sends status
  /// 500.
  ///
  /// - Parameter answer: Returns the answer for the path of a request.
  public init(_ answer: @escaping @Sendable (_ path: String) async throws -> Answer) throws {
    // Otherwise, writing to a connection that the client has closed ends the program.
    signal(SIGPIPE, SIG_IGN)
    #if canImport(Darwin)
      listener = socket(AF_INET, SOCK_STREAM, 0)
    #else
      listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutableBytes(of: &address) { [listener] bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { address in
        bind(listener, address.baseAddress, size) == 0 && listen(listener, 128) == 0
          && getsockname(listener, address.baseAddress, &size) == 0
      }
    }
    guard isListening, let url = URL(string: "http://127.0.0.1:\(address.sin_port.bigEndian)/")
    else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    self.url = url
    self.answer = answer
    Thread.detachNewThread { self.acceptConnections() }
  }

  private func acceptConnections() {
    while true {
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else {
        // Too many files are open.
        Thread.sleep(forTimeInterval: 0.01)
        continue
      }
      Thread.detachNewThread {
        self.serve(connection)
        close(connection)
      }
    }
  }

  private func serve(_ connection: Int32) {
    guard let path = readPath(connection) else { return }
    let answer = answer
    // This thread has nothing else to do, so it can block until the answer is there.
    let result = Result { try Promise { try await answer(path) }.wait() }
    let response = (try? result.get()) ?? Answer(status: 500)
    let headers = response.headers.map { "\($0): \($1)\r\n" }.joined()
    let head =
      "HTTP/1.1 \(response.status) Status\r\nContent-Length: \(response.body.count)\r\n"
      + "Connection: close\r\n\(headers)\r\n"
    guard send(Data(head.utf8), to: connection) else { return }
    let body = response.body.prefix(response.breaksAfter ?? .max)
    for start in stride(from: body.startIndex, to: body.endIndex, by: 16_384) {
      if response.pause > 0 { Thread.sleep(forTimeInterval: response.pause) }
      let end = min(start + 16_384, body.endIndex)
      guard send(body[start..<end], to: connection) else { return }
    }
  }

  /// Reads the head of a request, and returns its path.
  private func readPath(_ connection: Int32) -> String? {
    var head = Data()
    var buffer = [UInt8](repeating: 0, count: 4096)
    while head.range(of: Data("\r\n\r\n".utf8)) == nil {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      head += buffer[..<count]
    }
    return String(decoding: head, as: UTF8.self).split(separator: " ").dropFirst().first
      .map(String.init)
  }

  /// Sends all bytes; returns false if the client has closed the connection.
  private func send(_ data: Data, to connection: Int32) -> Bool {
    var rest = data
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(connection, $0.baseAddress, $0.count) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
