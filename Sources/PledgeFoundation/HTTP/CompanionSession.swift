import Dispatch
import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSession {
  /// Starts the task of `transfer`, which receives its events.
  func perform(_ transfer: Transfer) {
    #if !canImport(FoundationNetworking)
      do {
        let task = try transfer.task(for: transfer.request, in: self)
        task.delegate = transfer
        transfer.begin(cancel: { task.cancel() })
        task.resume()
      } catch {
        transfer.complete(error)
      }
    #else
      CompanionSession.perform(transfer, of: self)
    #endif
  }
}

#if canImport(FoundationNetworking)
  /// A session with the user's configuration, which reports the events of its tasks to transfers.
  ///
  /// On the user's own session, the following faults of Foundation on Linux (6.3) would stop a
  /// request or end the process; the companion avoids them:
  ///
  /// - A session that has no delegate for a task with a completion handler, such as that of
  ///   `data(for:)`, collects the whole body in memory, and never answers a request for a password.
  /// - A session that has a delegate asks it about each redirect; if the task is cancelled or times
  ///   out before the answer arrives, the answer is a fatal error.
  /// - A session reads without limit while events wait on its delegate's queue.
  /// - A task that is cancelled before its cache has answered never ends.
  /// - Creating a task in a session that has been invalidated is a fatal error, also if another
  ///   thread invalidates it in the meantime.
  ///
  /// `@unchecked Sendable`: `users` and `configuration` are guarded by `companions`; `running` is a
  /// mutex; `session` is set once, before the companion is shared.
  private final class CompanionSession: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct Companions {
      /// By the configuration of the user's session, which no other session has.
      var all: [ObjectIdentifier: CompanionSession] = [:]
      /// Those without tasks; they keep open connections for later requests.
      var idle: [CompanionSession] = []

      /// Removes idle companions that are too many, or whose user's session is gone.
      mutating func removeSurplus() -> [CompanionSession] {
        var surplus: [CompanionSession] = []
        for companion in idle
        where surplus.count < idle.count - CompanionSession.idleLimit
          || isKnownUniquelyReferenced(&companion.configuration)
        {
          surplus.append(companion)
          all[ObjectIdentifier(companion.configuration)] = nil
        }
        idle.removeAll { companion in surplus.contains { $0 === companion } }
        return surplus
      }
    }

    private struct Running {
      let transfer: Transfer
      let original: URLSession
      /// The request of the current task.
      var request: URLRequest
      var redirects = 0
      private let queue = DispatchQueue(label: "Pledge.Transfer")

      init(_ transfer: Transfer, of original: URLSession) {
        self.transfer = transfer
        self.original = original
        request = transfer.request
      }

      /// Calls `receive` after the transfer's earlier events, on a queue of its own.
      ///
      /// It can run the user's code; in the meantime, Foundation cancels tasks and serves the other
      /// transfers.
      func deliver(_ receive: @escaping @Sendable (Transfer) -> Void) {
        queue.async { [transfer] in receive(transfer) }
      }

      /// Delivers a piece of the body.
      ///
      /// If it goes to a file, returns when it's written, so that no more is read in the meantime.
      func deliver(_ data: Data) {
        if transfer.writesFile {
          queue.sync { transfer.receive(data) }
        } else {
          deliver { $0.receive(data) }
        }
      }
    }

    private static let companions = Mutex(Companions())
    /// The queue for calls to Foundation that wait for its own queue, which `InPlace` occupies.
    private static let control = DispatchQueue(label: "Pledge.URLSession")
    /// The maximum number of idle companions.
    private static let idleLimit = 8
    /// The maximum number of redirects of a request, as in Foundation.
    private static let redirectLimit = 20

    /// Retained, so that another session's can't have the same address.
    private var configuration: URLSessionConfiguration
    private var users = 0
    private var session: URLSession?
    private let running = Mutex<[Int: Running]>([:])

    private init(_ configuration: URLSessionConfiguration) {
      self.configuration = configuration
      super.init()
      let copy = configuration.copy() as? URLSessionConfiguration ?? configuration
      copy.urlCache = nil
      copy.timeoutIntervalForRequest.round(.up)
      session = URLSession(configuration: copy, delegate: self, delegateQueue: InPlace())
    }

    /// Starts the task of `transfer` in the companion of `original`.
    static func perform(_ transfer: Transfer, of original: URLSession) {
      let companion = companions.withLock { companions in
        let key = ObjectIdentifier(original.configuration)
        let companion = companions.all[key] ?? CompanionSession(original.configuration)
        companions.all[key] = companion
        companions.idle.removeAll { $0 === companion }
        companion.users += 1
        return companion
      }
      companion.start(Running(transfer, of: original))
    }

    private func start(_ entry: Running) {
      guard let session else { preconditionFailure("Pledge: a companion has a session") }
      do {
        let task = try entry.transfer.task(for: entry.request, in: session)
        running.withLock { $0[task.taskIdentifier] = entry }
        entry.transfer.begin(cancel: { [self] in cancel(task) })
        task.resume()
      } catch {
        end(entry, error)
      }
    }

    private func cancel(_ task: URLSessionTask) {
      Self.control.async { task.cancel() }
    }

    private func end(_ entry: Running, _ error: (any Error)?) {
      let closing = Self.companions.withLock { companions in
        users -= 1
        if users == 0 { companions.idle.append(self) }
        return companions.removeSurplus()
      }
      // A session retains its delegate, the companion, until it is invalidated.
      for companion in closing { companion.session?.finishTasksAndInvalidate() }
      entry.deliver { $0.complete(error) }
    }

    // MARK: Events for the transfer

    private func entry(of task: URLSessionTask) -> Running? {
      running.withLock { $0[task.taskIdentifier] }
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      entry(of: dataTask)?.deliver { $0.receive(response) }
      completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      entry(of: dataTask)?.deliver(data)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64,
      totalBytesSent: Int64, totalBytesExpectedToSend: Int64
    ) {
      entry(of: task)?.deliver { $0.send(bytesSent, of: totalBytesExpectedToSend) }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      guard let entry = running.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else {
        return
      }
      // Foundation reports the response of a redirect that it doesn't follow only here.
      if error == nil, let response = task.response {
        entry.deliver { $0.receiveIfFirst(response) }
      }
      end(entry, error)
    }

    // Called if libcurl sends the body again, for example on another connection.
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
      newBodyStream(for: task, completionHandler)
    }

    // MARK: Events for the delegate of the user's session

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      let request = request.withLowercasedScheme.withoutCredentials(for: response.url)
      askUser(about: task) { [self] user in
        let answer: @Sendable (URLRequest?) -> Void = { [self] in
          redirect(task, response, to: $0)
        }
        guard let user else { return answer(request) }
        user.delegate.urlSession(
          user.session, task: task, willPerformHTTPRedirection: response, newRequest: request,
          completionHandler: answer)
      }
    }

    /// Follows a redirect, and replaces the stream that `task` has read, if there is one.
    private func redirect(
      _ task: URLSessionTask, _ response: URLResponse, to request: URLRequest?
    ) {
      let sent = entry(of: task)?.request
      guard let request, let read = sent?.httpBodyStream, request.httpBodyStream === read else {
        return follow(task, response, to: request)
      }
      guard request.httpMethod == sent?.httpMethod else {
        return follow(task, response, to: request.withoutBody)
      }
      newBodyStream(for: task) { [self] stream in
        guard let stream else {
          if let entry = abandon(task) { end(entry, URLError(.requestBodyStreamExhausted)) }
          return
        }
        var request = request
        request.httpBodyStream = stream
        follow(task, response, to: request)
      }
    }

    /// Passes a new stream of the body to `use`; nil if there is none.
    private func newBodyStream(
      for task: URLSessionTask, _ use: @escaping @Sendable (InputStream?) -> Void
    ) {
      if let stream = entry(of: task)?.transfer.bodyStream { return use(stream) }
      askUser(about: task) { user in
        guard let user else { return use(nil) }
        user.delegate.urlSession(user.session, task: task, needNewBodyStream: use)
      }
    }

    /// Starts another task for the redirect.
    ///
    /// The completion handler isn't called, because that is a fatal error if the task has timed out
    /// or was cancelled in the meantime.
    private func follow(_ task: URLSessionTask, _ response: URLResponse, to request: URLRequest?) {
      guard var entry = abandon(task) else { return }
      entry.redirects += 1
      guard let request else {
        entry.deliver { $0.receive(response) }
        return end(entry, nil)
      }
      guard entry.redirects <= Self.redirectLimit else {
        return end(entry, URLError(.httpTooManyRedirects))
      }
      entry.request = request
      start(entry)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler:
        @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      // Foundation has no other method.
      let isBasic =
        challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
      let hasDefault =
        isBasic && challenge.proposedCredential != nil && challenge.previousFailureCount == 0
      askUser(about: task) { [self] user in
        let answer: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void = {
          [self] in
          switch ($0, $1) {
          case (.useCredential, let credential?) where isBasic:
            completionHandler(.useCredential, credential)
          case (.performDefaultHandling, _) where hasDefault:
            completionHandler(.performDefaultHandling, nil)
          case (let disposition, _):
            // Without a credential, Foundation never ends the task. The result is the response.
            guard let entry = abandon(task) else { return }
            end(
              entry, disposition == .cancelAuthenticationChallenge ? URLError(.cancelled) : nil)
          }
        }
        guard let user else { return answer(.performDefaultHandling, nil) }
        user.delegate.urlSession(
          user.session, task: task, didReceive: challenge, completionHandler: answer)
      }
    }

    /// Calls `ask` with the delegate of the user's session, on its queue; with nil if it has none.
    private func askUser(
      about task: URLSessionTask,
      _ ask:
        @escaping @Sendable ((session: URLSession, delegate: any URLSessionTaskDelegate)?) -> Void
    ) {
      guard let original = entry(of: task)?.original else { return }
      guard let delegate = original.delegate as? any URLSessionTaskDelegate else {
        return Self.control.async { ask(nil) }
      }
      original.delegateQueue.addOperation { ask((original, delegate)) }
    }

    /// Cancels `task`, and returns its entry; nil if it has ended or been abandoned.
    private func abandon(_ task: URLSessionTask) -> Running? {
      defer { cancel(task) }
      return running.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    }
  }

  /// Runs the events of a session at once, on the queue on which Foundation reads and completes tasks.
  ///
  /// A queue of its own would collect what Foundation reads until the events have run. It also makes
  /// each event and the cancellation of its task exclude each other; otherwise, cancelling a task while
  /// it completes is a fatal error inside Foundation.
  ///
  /// Unchecked, as the superclass is: it adds no state.
  private final class InPlace: OperationQueue, @unchecked Sendable {
    override init() {
      super.init()
      // Events keep their order, even if Foundation adds them in another way.
      maxConcurrentOperationCount = 1
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
  }

  extension URLRequest {
    /// The request with a scheme that Foundation recognizes.
    fileprivate var withLowercasedScheme: URLRequest {
      guard let url, let scheme = url.scheme, scheme != scheme.lowercased(),
        var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
      else { return self }
      components.scheme = scheme.lowercased()
      var request = self
      request.url = components.url ?? url
      return request
    }

    /// The request of a redirect that drops the body.
    fileprivate var withoutBody: URLRequest {
      var request = self
      request.httpBodyStream = nil
      request.setValue(nil, forHTTPHeaderField: "Content-Length")
      return request
    }

    /// Returns the request of a redirect from `origin`, without the credentials if it goes to
    /// another server; Foundation would send them there.
    fileprivate func withoutCredentials(for origin: URL?) -> URLRequest {
      let isSame =
        url?.scheme == origin?.scheme && url?.host == origin?.host && url?.port == origin?.port
      if isSame { return self }
      var request = self
      for name in ["Authorization", "Cookie"] { request.setValue(nil, forHTTPHeaderField: name) }
      return request
    }
  }
#endif
