import FetchSupport
import Foundation
import Pledge
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The answer of a server that did not send the file.
struct HTTPStatusError: Error, CustomStringConvertible {
  let status: Int
  /// How long the server asks to wait before the next attempt.
  let retryAfter: Duration?

  var description: String { "HTTP status \(status)" }
}

/// HTTP downloads as promises, the bytes handed on as they arrive.
final class HTTPTransfers: NSObject, Sendable {
  typealias Receiver = @Sendable (Data) throws -> Void

  private struct Transfer {
    let receive: Receiver
    let resolver: Resolver<Void>
  }

  private let transfers = Mutex<[Int: Transfer]>([:])
  private let session: Mutex<URLSession?>

  init(connectionsPerHost: Int) {
    session = Mutex(nil)
    super.init()
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = connectionsPerHost
    configuration.urlCache = nil
    let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    self.session.withLock { $0 = session }
  }

  /// Sends a GET request and hands the body to `receive`, piece by piece and in order.
  ///
  /// Rejected if the status is not 2xx, or if `receive` throws. Cancelling closes the connection.
  func get(_ url: URL, receive: @escaping Receiver) -> Promise<Void> {
    Promise { resolver in
      guard let task = session.withLock({ $0?.dataTask(with: url) }) else {
        throw URLError(.cancelled)
      }
      let id = task.taskIdentifier
      transfers.withLock { $0[id] = Transfer(receive: receive, resolver: resolver) }
      // Weak, or the resolver would keep itself alive.
      resolver.onCancel { [weak self] in
        // Once a task: two cancellations of one task at a time crash Foundation on Linux.
        if self?.finish(id) != nil { task.cancel() }
      }
      task.resume()
    }
  }

  /// Ends the session, once the transfers under way have ended.
  func close() {
    session.withLock { session in
      session?.finishTasksAndInvalidate()
      session = nil
    }
  }

  private func transfer(_ id: Int) -> Transfer? { transfers.withLock { $0[id] } }

  private func finish(_ id: Int) -> Transfer? {
    transfers.withLock { $0.removeValue(forKey: id) }
  }
}

extension HTTPTransfers: URLSessionDataDelegate {
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    if let response = response as? HTTPURLResponse, !(200..<300).contains(response.statusCode) {
      let retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap {
        RetryAfter.delay($0)
      }
      finish(dataTask.taskIdentifier)?.resolver.reject(
        HTTPStatusError(status: response.statusCode, retryAfter: retryAfter))
      completionHandler(.cancel)
    } else {
      completionHandler(.allow)
    }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    guard let transfer = transfer(dataTask.taskIdentifier) else { return }
    do {
      try transfer.receive(data)
    } catch {
      guard let transfer = finish(dataTask.taskIdentifier) else { return }
      transfer.resolver.reject(error)
      dataTask.cancel()
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    finish(task.taskIdentifier)?.resolver.resolve(error)
  }
}
