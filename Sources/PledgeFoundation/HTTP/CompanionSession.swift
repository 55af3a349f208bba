import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A task that hasn't been resumed, and a closure that cancels it.
struct PreparedTask: Sendable {
  let task: URLSessionTask
  let cancel: @Sendable () -> Void
}

#if canImport(ObjectiveC)
  extension URLSession {
    /// Returns a task that reports its events to `transfer`.
    func prepare(_ transfer: Transfer, _ make: (URLSession) -> URLSessionTask) -> PreparedTask {
      let task = make(self)
      task.delegate = transfer
      return PreparedTask(task: task, cancel: { task.cancel() })
    }
  }
#else
  extension URLSession {
    /// Returns a task that reports its events to `transfer`.
    func prepare(_ transfer: Transfer, _ make: (URLSession) -> URLSessionTask) -> PreparedTask {
      CompanionSession.of(self).prepare(transfer, make)
    }
  }

  /// A session with the user's configuration, and a delegate that reports the events of each task
  /// to its transfer.
  ///
  /// In this Foundation, the delegates and the `progress` of tasks don't work, and the delegate of
  /// a session can't be changed. A companion has no cache, because cancelling a task before the
  /// cache has answered is a fatal error inside Foundation.
  ///
  /// A companion exists for some time after its last transfer, so that later transfers can reuse
  /// its open connections. During that time, it doesn't retain the user's session.
  ///
  /// `@unchecked Sendable`: `transfers` and `refused` are mutexes; `users`, `original`, and
  /// `closing` are guarded by `companions`; `session` is set once, before the companion is shared.
  private final class CompanionSession: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private static let companions = Mutex<[ObjectIdentifier: CompanionSession]>([:])
    /// How long a companion without transfers is kept.
    private static let idleTime = TimeSpan.seconds(15)

    private let key: ObjectIdentifier
    private weak var known: URLSession?
    /// The user's session, retained while one of its transfers runs.
    private var original: URLSession?
    private var session: URLSession?
    private var users = 0
    private var closing: Promise<Void>?
    private let transfers = Mutex<[Int: Transfer]>([:])
    /// The tasks whose authentication challenge was rejected.
    private let refused = Mutex<Set<Int>>([])

    private init(_ original: URLSession) {
      key = ObjectIdentifier(original)
      known = original
      super.init()
      let configuration = original.configuration
      configuration.urlCache = nil
      // The user's delegate expects its calls on the user's queue.
      let queue = original.delegate == nil ? nil : original.delegateQueue
      session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
    }

    /// Returns the companion of `original`, and adds one to its number of users.
    static func of(_ original: URLSession) -> CompanionSession {
      let (companion, stale, closing) = companions.withLock { companions in
        let key = ObjectIdentifier(original)
        var stale: CompanionSession?
        // This session can have the address of one that has been deallocated.
        if let old = companions[key], old.known !== original {
          stale = old
          companions[key] = nil
        }
        let companion = companions[key] ?? CompanionSession(original)
        companions[key] = companion
        companion.original = original
        companion.users += 1
        return (companion, stale, exchange(&companion.closing, with: nil))
      }
      closing?.cancel()
      stale?.session?.finishTasksAndInvalidate()
      return companion
    }

    /// Returns a promise that is fulfilled after the time for which an idle companion is kept.
    private static func idle() -> Promise<Void> {
      if #available(macOS 13, iOS 16, tvOS 16, watchOS 9, *) {
        // Time during which the system is suspended doesn't count.
        return .after(idleTime.duration, clock: SuspendingClock())
      }
      return .after(idleTime, .continuous)
    }

    private func release() {
      let released: (session: URLSession?, isUnused: Bool) = Self.companions.withLock { _ in
        users -= 1
        guard users == 0 else { return (nil, false) }
        // Released outside the lock.
        return (exchange(&original, with: nil), true)
      }
      withExtendedLifetime(released.session) {}
      guard released.isUnused else { return }
      let closing = Self.idle().done(on: .immediate) { self.closeIfUnused() }
      closing.cauterize()
      let isTooLate = Self.companions.withLock { _ in
        guard users == 0, self.closing == nil else { return true }
        self.closing = closing
        return false
      }
      if isTooLate { closing.cancel() }
    }

    private func closeIfUnused() {
      let isUnused = Self.companions.withLock { companions in
        guard users == 0 else { return false }
        if companions[key] === self { companions[key] = nil }
        return true
      }
      // The session retains its delegate, this object, until it is invalidated.
      if isUnused { session?.finishTasksAndInvalidate() }
    }

    func prepare(_ transfer: Transfer, _ make: (URLSession) -> URLSessionTask) -> PreparedTask {
      guard let session else { preconditionFailure("Pledge: a companion has a session") }
      let task = make(session)
      transfers.withLock { $0[task.taskIdentifier] = transfer }
      // On the queue that also completes tasks, because cancelling a task while it completes is a
      // fatal error inside Foundation.
      return PreparedTask(task: task, cancel: { session.delegateQueue.addOperation(task.cancel) })
    }

    private func transfer(of task: URLSessionTask) -> Transfer? {
      transfers.withLock { $0[task.taskIdentifier] }
    }

    // MARK: Events for the transfer

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
      let isRefused = refused.withLock { $0.remove(task.taskIdentifier) != nil }
      release()
      transfer?.complete(isRefused ? nil : error)
    }

    // MARK: Events for the delegate of the user's session

    private var user: (session: URLSession, delegate: any URLSessionTaskDelegate)? {
      let original = Self.companions.withLock { _ in self.original }
      guard let original, let delegate = original.delegate as? any URLSessionTaskDelegate else {
        return nil
      }
      return (original, delegate)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      guard let user else { return completionHandler(request) }
      user.delegate.urlSession(
        user.session, task: task, willPerformHTTPRedirection: response, newRequest: request,
        completionHandler: completionHandler)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler:
        @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      guard let user else {
        if challenge.proposedCredential != nil, challenge.previousFailureCount == 0 {
          return completionHandler(.performDefaultHandling, nil)
        }
        // Without a credential, the default handling of this Foundation never ends. The result is
        // the server's response, without its body.
        if let response = challenge.failureResponse, let transfer = transfer(of: task) {
          transfer.receive(response)
          _ = refused.withLock { $0.insert(task.taskIdentifier) }
        }
        return completionHandler(.rejectProtectionSpace, nil)
      }
      user.delegate.urlSession(
        user.session, task: task, didReceive: challenge, completionHandler: completionHandler)
    }
  }
#endif
