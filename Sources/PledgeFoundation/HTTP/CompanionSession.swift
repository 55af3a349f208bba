import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A task that has not been resumed, and how to cancel it.
struct PreparedTask: Sendable {
  let task: URLSessionTask
  let cancel: @Sendable () -> Void
}

#if canImport(ObjectiveC)
  extension URLSession {
    /// Makes a task that tells `transfer` what happens.
    func prepare(_ transfer: Transfer, _ make: (URLSession) -> URLSessionTask) -> PreparedTask {
      let task = make(self)
      task.delegate = transfer
      return PreparedTask(task: task, cancel: { task.cancel() })
    }
  }
#else
  extension URLSession {
    /// Makes a task that tells `transfer` what happens.
    func prepare(_ transfer: Transfer, _ make: (URLSession) -> URLSessionTask) -> PreparedTask {
      CompanionSession.of(self).prepare(transfer, make)
    }
  }

  /// A session like the user's, with a delegate that tells each task's transfer what happens.
  ///
  /// Delegates of single tasks, and the `progress` of tasks, do not work in this Foundation, and the
  /// delegate of a session is fixed. Nor may a task of a session with a cache be cancelled: if the
  /// cache has not answered yet, that is a fatal error inside of Foundation. So a companion has no
  /// cache. It lives while a transfer of it runs.
  ///
  /// `@unchecked Sendable`: `transfers` is a mutex, `users` is guarded by `companions`, and `session`
  /// is set once, before the companion is seen by anybody else.
  private final class CompanionSession: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private static let companions = Mutex<[ObjectIdentifier: CompanionSession]>([:])

    private let original: URLSession
    private var session: URLSession?
    private var users = 0
    private let transfers = Mutex<[Int: Transfer]>([:])

    private init(original: URLSession) { self.original = original }

    /// The companion of `original`, with one user more.
    static func of(_ original: URLSession) -> CompanionSession {
      companions.withLock { companions in
        let companion: CompanionSession
        if let known = companions[ObjectIdentifier(original)] {
          companion = known
        } else {
          companion = CompanionSession(original: original)
          let configuration = original.configuration
          configuration.urlCache = nil
          companion.session = URLSession(
            configuration: configuration, delegate: companion, delegateQueue: nil)
          companions[ObjectIdentifier(original)] = companion
        }
        companion.users += 1
        return companion
      }
    }

    private func release() {
      let isUnused = Self.companions.withLock { companions in
        users -= 1
        // The shared session stays for ever, and so may its connections.
        guard users == 0, original !== URLSession.shared else { return false }
        companions[ObjectIdentifier(original)] = nil
        return true
      }
      // The session keeps its delegate, this object, until it is invalidated.
      if isUnused { session?.finishTasksAndInvalidate() }
    }

    func prepare(_ transfer: Transfer, _ make: (URLSession) -> URLSessionTask) -> PreparedTask {
      let session = session ?? original
      let task = make(session)
      transfers.withLock { $0[task.taskIdentifier] = transfer }
      // On the queue that also completes tasks: to cancel a task that completes in this very moment
      // is a fatal error inside of Foundation.
      return PreparedTask(task: task, cancel: { session.delegateQueue.addOperation(task.cancel) })
    }

    private func transfer(of task: URLSessionTask) -> Transfer? {
      transfers.withLock { $0[task.taskIdentifier] }
    }

    // MARK: What goes to the transfer

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      transfer(of: dataTask)?.receive(response)
      completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      transfer(of: dataTask)?.receive(data)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64,
      totalBytesSent: Int64, totalBytesExpectedToSend: Int64
    ) {
      transfer(of: task)?.send(bytesSent, of: totalBytesExpectedToSend)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      let transfer = transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
      release()
      transfer?.complete(error)
    }

    // MARK: What goes to the delegate of the user's session

    private var userDelegate: (any URLSessionTaskDelegate)? {
      original.delegate as? any URLSessionTaskDelegate
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      guard let userDelegate else { return completionHandler(request) }
      userDelegate.urlSession(
        original, task: task, willPerformHTTPRedirection: response, newRequest: request,
        completionHandler: completionHandler)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler:
        @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      guard let userDelegate else { return completionHandler(.performDefaultHandling, nil) }
      userDelegate.urlSession(
        original, task: task, didReceive: challenge, completionHandler: completionHandler)
    }
  }
#endif
