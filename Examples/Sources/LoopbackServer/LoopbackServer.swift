import Foundation
import Pledge

/// A small HTTP server for examples and tests, on a port of this machine that the system chooses.
///
/// Each connection has a thread, which can block.
public final class LoopbackServer: Sendable {
  /// What a client sends.
  public struct Request: Sendable {
    /// The method.
    public var method = ""
    /// The path.
    public var path = ""
    /// The part of the URL after the question mark.
    public var query = ""
    /// The header fields, with names in lowercase.
    public var headers: [String: String] = [:]
    /// The body.
    public var body = Data()
  }

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

  /// Starts a server that responds to one request on each connection.
  ///
  /// **Execution.** `answer` runs in a task for each request. If it throws, the server sends status
  /// 500.
  ///
  /// - Parameter answer: Returns the answer for the path of a request.
  public convenience init(
    _ answer: @escaping @Sendable (_ path: String) async throws -> Answer
  ) throws {
    try self.init(serving: { connection in
      guard let path = connection.readRequest()?.path else { return }
      // This thread has nothing else to do, so it can block until the answer is there.
      let result = Result { try Promise { try await answer(path) }.wait() }
      connection.send((try? result.get()) ?? Answer(status: 500))
      connection.finish()
    })
  }

  /// Starts a server that passes each connection to `serve`, and closes it afterwards.
  ///
  /// **Execution.** `serve` runs on a thread of its own.
  public init(serving serve: @escaping @Sendable (Connection) -> Void) throws {
    #if canImport(Darwin)
      // Otherwise, writing to a connection that the client has closed ends the program.
      signal(SIGPIPE, SIG_IGN)
      listener = socket(AF_INET, SOCK_STREAM, 0)
    #else
      listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    _ = fcntl(listener, F_SETFD, FD_CLOEXEC)
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
    Thread.detachNewThread { [listener] in
      while true {
        let descriptor = accept(listener, nil, nil)
        if descriptor >= 0 {
          Thread.detachNewThread {
            serve(Connection(descriptor))
            close(descriptor)
          }
        } else if errno == EINVAL {
          // The server has been stopped.
          close(listener)
          return
        } else {
          // Too many files are open.
          Thread.sleep(forTimeInterval: 0.01)
        }
      }
    }
  }

  /// Stops accepting connections; without this call, the server runs until the program ends.
  public func stop() { shutdown(listener, Int32(SHUT_RDWR)) }
}
