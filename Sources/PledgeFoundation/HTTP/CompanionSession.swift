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
  /// Delegates of single tasks, and the `progress` of tasks, do not work in this Foundation, and
  /// the delegate of a session is fixed. Nor may a task of a session with a cache be cancelled: if
  /// the cache has not answered yet, that is a fatal error inside Foundation. So a companion has no
  /// cache.
  ///
  /// A companion outlives its last transfer for a while, for its open connections to serve the next
  /// ones. Then it does not keep the user's session.
  ///
  /// `@unchecked Sendable`: `transfers` and `refused` are mutexes; `users`, `original` and `closing` are guarded by
  /// `companions`; `session` is set once, before another thread can see the companion.
  private final class CompanionSession: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private static let companions = Mutex<[ObjectIdentifier: CompanionSession]>([:])
    /// How long connections without a user are kept.
    private static let idleTime = TimeSpan.seconds(15)

    private let key: ObjectIdentifier
    private weak var known: URLSession?
    /// The user's session while a transfer of it runs.
    private var original: URLSession?
    private var session: URLSession?
    private var users = 0
    private var closing: Promise<Void>?
    private let transfers = Mutex<[Int: Transfer]>([:])
    /// The tasks that ended with a challenge.
    private let refused = Mutex<Set<Int>>([])

    private init(_ original: URLSession) {
      key = ObjectIdentifier(original)
      known = original
      super.init()
      let configuration = original.configuration
      configuration.urlCache = nil
      // The user's queue is for the calls of the user's delegate.
      let queue = original.delegate == nil ? nil : original.delegateQueue
      session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
    }

    /// The companion of `original`, with one user more.
    static func of(_ original: URLSession) -> CompanionSession {
      let (companion, stale, closing) = companions.withLock { companions in
        let key = ObjectIdentifier(original)
        var stale: CompanionSession?
        // A session that is gone may have left its address to this one.
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

    /// A promise that is fulfilled when a session without users has been idle for long enough.
    private static func idle() -> Promise<Void> {
      if #available(macOS 13, iOS 16, tvOS 16, watchOS 9, *) {
        // Time that the system is suspended does not count.
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
      // The session keeps its delegate, this object, until it is invalidated.
      if isUnused { session?.finishTasksAndInvalidate() }
    }

    func prepare(_ transfer: Transfer, _ make: (URLSession) -> URLSessionTask) -> PreparedTask {
      guard let session else { preconditionFailure("Pledge: a companion has a session") }
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
      let isRefused = refused.withLock { $0.remove(task.taskIdentifier) != nil }
      release()
      transfer?.complete(isRefused ? nil : error)
    }

    // MARK: What goes to the delegate of the user's session

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
        // Without a credential, the default handling of this Foundation never ends. What the server
        // has answered is the outcome; its body does not arrive.
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
