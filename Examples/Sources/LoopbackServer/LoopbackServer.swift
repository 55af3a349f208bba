import FlyingFox
import FlyingSocks
import Foundation

/// An HTTP server for the examples, on a port of the loopback interface that the system chooses.
public final class LoopbackServer: Sendable {
  /// What the server sends for a request.
  public struct Answer: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header fields.
    public var headers: [String: String]
    /// The body.
    public var body: Data
    /// The number of bytes after which the connection breaks; nil for none.
    public var breaksAfter: Int?
    /// The pause before each piece of 16 KiB.
    public var pause: Duration

    /// Creates an answer.
    public init(
      status: Int = 200, headers: [String: String] = [:], _ body: Data = Data(),
      breaksAfter: Int? = nil, pause: Duration = .zero
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

  private let server: HTTPServer
  private let task: Task<Void, any Error>

  private init(url: URL, server: HTTPServer, task: Task<Void, any Error>) {
    self.url = url
    self.server = server
    self.task = task
  }

  deinit { task.cancel() }

  /// Starts a server, which runs until it is stopped or deallocated.
  ///
  /// **Execution.** `answer` runs in a task for each request, with the path of the request. If it
  /// throws, the server sends status 500.
  public static func start(
    _ answer: @escaping @Sendable (_ path: String) async throws -> Answer
  ) async throws -> LoopbackServer {
    let server = HTTPServer(
      address: try sockaddr_in.inet(ip4: "127.0.0.1", port: 0), logger: .disabled,
      handler: ClosureHTTPHandler { request in HTTPResponse(try await answer(request.path)) })
    let task = Task { try await server.run() }
    // On a busy machine, it can take a while until the server's task runs.
    try await server.waitUntilListening(timeout: 60)
    guard case .ip4(_, let port)? = await server.listeningAddress,
      let url = URL(string: "http://127.0.0.1:\(port)/")
    else {
      task.cancel()
      throw URLError(.cannotConnectToHost)
    }
    return LoopbackServer(url: url, server: server, task: task)
  }

  /// Stops the server and closes its connections.
  public func stop() async {
    await server.stop()
    task.cancel()
    _ = await task.result
  }
}

extension HTTPResponse {
  fileprivate init(_ answer: LoopbackServer.Answer) {
    self.init(
      statusCode: HTTPStatusCode(answer.status, phrase: ""),
      headers: HTTPHeaders(
        answer.headers.reduce(into: [:]) { $0[HTTPHeader($1.key)] = $1.value }),
      body: HTTPBodySequence(
        from: Pieces(answer: answer), count: answer.body.count, suggestedBufferSize: 16_384))
  }
}

/// The body of an answer, in pieces.
private struct Pieces: AsyncBufferedSequence, AsyncBufferedIteratorProtocol {
  typealias Element = UInt8

  /// The error that breaks the connection.
  struct Broken: Error {}

  let answer: LoopbackServer.Answer
  private var position = 0

  init(answer: LoopbackServer.Answer) { self.answer = answer }

  func makeAsyncIterator() -> Pieces { self }

  mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

  mutating func nextBuffer(suggested count: Int) async throws -> Data? {
    let end = Swift.min(answer.breaksAfter ?? .max, answer.body.count)
    guard position < end else {
      if end < answer.body.count { throw Broken() }
      return nil
    }
    if answer.pause > .zero { try await Task.sleep(for: answer.pause) }
    let piece = answer.body[position..<Swift.min(position + count, end)]
    position = piece.endIndex
    return piece
  }
}
