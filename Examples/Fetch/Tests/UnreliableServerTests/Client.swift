import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The response that a client received.
struct Answer: Sendable {
  var status: Int?
  var headers: [String: String] = [:]
  var expectedLength: Int64?
  var bytes = Data()
  var pieces = 0
  var error: URLError?
}

/// A client that reports each event of a response.
final class Client: NSObject, URLSessionDataDelegate {
  enum Event: Sendable {
    case response(status: Int, headers: [String: String], expectedLength: Int64)
    case bytes(Data)
  }

  private typealias Events = AsyncThrowingStream<Event, any Error>
  private let continuations = Mutex<[Int: Events.Continuation]>([:])

  /// Calls `body` with a session, and invalidates the session afterward.
  static func withClient<Value: Sendable>(
    _ body: (Client, URLSession) async throws -> Value
  ) async throws -> Value {
    let client = Client()
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpMaximumConnectionsPerHost = 64
    let session = URLSession(configuration: configuration, delegate: client, delegateQueue: nil)
    defer { session.finishTasksAndInvalidate() }
    return try await body(client, session)
  }

  /// Returns the server's response for `url`.
  static func get(_ url: URL, method: String = "GET") async throws -> Answer {
    try await withClient { client, session in
      var request = URLRequest(url: url)
      request.httpMethod = method
      return await client.answer(to: request, in: session)
    }
  }

  func answer(to request: URLRequest, in session: URLSession) async -> Answer {
    var answer = Answer()
    do {
      for try await event in events(of: request, in: session) {
        switch event {
        case .response(let status, let headers, let expectedLength):
          (answer.status, answer.headers) = (status, headers)
          answer.expectedLength = expectedLength
        case .bytes(let bytes):
          answer.bytes += bytes
          answer.pieces += 1
        }
      }
    } catch {
      answer.error = error as? URLError ?? URLError(.unknown)
    }
    return answer
  }

  func events(
    of request: URLRequest, in session: URLSession
  ) -> AsyncThrowingStream<Event, any Error> {
    let (stream, continuation) = Events.makeStream()
    let task = session.dataTask(with: request)
    continuations.withLock { $0[task.taskIdentifier] = continuation }
    task.resume()
    return stream
  }

  private func continuation(of task: URLSessionTask) -> Events.Continuation? {
    continuations.withLock { $0[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    if let response = response as? HTTPURLResponse {
      var headers: [String: String] = [:]
      for (name, value) in response.allHeaderFields { headers["\(name)"] = "\(value)" }
      continuation(of: dataTask)?.yield(
        .response(
          status: response.statusCode, headers: headers,
          expectedLength: response.expectedContentLength))
    }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    continuation(of: dataTask)?.yield(.bytes(data))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    continuation(of: task)?.finish(throwing: error)
    continuations.withLock { $0[task.taskIdentifier] = nil }
  }
}
