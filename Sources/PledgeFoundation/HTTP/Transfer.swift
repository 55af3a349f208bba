import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request, whose body is received or sent in pieces.
///
/// `@unchecked Sendable`: `state` is a mutex.
final class Transfer: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  typealias Arrival = (data: Data, response: URLResponse)

  /// A body that isn't part of the request.
  enum Upload: Sendable {
    case data(Data)
    case file(URL)
  }

  /// Where the pieces of the response's body go if they aren't collected.
  enum Sink: Sendable {
    case file(PartialFile)
    case receiver(@Sendable (Data) throws -> Void)
  }

  private struct State {
    var settle: (@Sendable (Result<Arrival, any Error>) -> Void)?
    var cancel: (@Sendable () -> Void)?
    var sink: Sink?
    var response: URLResponse?
    var body = Data()
    var bytes: Int64 = 0
    var bytesToSend: Int64 = 0
    /// The error of the sink or of the file to send.
    var failure: (any Error)?
    /// The result; nil until the transfer ends.
    var outcome: Result<Arrival, any Error>?
  }

  /// The maximum number of bytes of a rejected response's body that its error contains.
  private static let refusedBodyLimit = 65_536

  let request: URLRequest
  private let upload: Upload?
  private let acceptsAnyStatus: Bool
  private let progress: TransferProgress?
  private let state: Mutex<State>

  init(
    _ request: URLRequest, sending upload: Upload? = nil, to sink: Sink? = nil,
    acceptsAnyStatus: Bool = true, progress: Progress?
  ) {
    self.request = upload == nil ? request : request.withBodyMethod
    self.upload = upload
    state = Mutex(State(sink: sink))
    if case .file = sink { writesFile = true } else { writesFile = false }
    self.acceptsAnyStatus = acceptsAnyStatus
    self.progress = progress.map(TransferProgress.init)
  }

  /// Starts the transfer, and returns a promise for its result.
  func promise<Value: Sendable>(
    in session: URLSession, fileID: StaticString, line: UInt,
    of transform: @escaping @Sendable (Arrival) -> Value = { $0 }
  ) -> Promise<Value> {
    let (promise, resolver) = Promise<Value>.withResolvers(fileID: fileID, line: line)
    state.withLock { $0.settle = { resolver.resolve($0.map(transform)) } }
    resolver.onCancel {
      // The file may have been renamed in the meantime; then the transfer has succeeded.
      if let outcome = self.stop() { resolver.resolve(outcome.map(transform)) }
    }
    progress?.begin { promise.cancel() }
    session.perform(self)
    return promise
  }

  /// Returns a task for `request`, which is the transfer's own or that of a redirect.
  func task(for request: URLRequest, in session: URLSession) throws -> URLSessionTask {
    // A redirect that changes the method drops the body.
    let upload = request.httpMethod == self.request.httpMethod ? upload : nil
    #if !canImport(FoundationNetworking)
      if case .file(let file) = upload {
        return session.uploadTask(with: request, fromFile: file)
      }
    #else
      var request = request
      // Foundation drops fractions of seconds, so a limit below one second would fail at once. A limit
      // that is set takes precedence over that of the session, also if it's the same.
      let timeLimit = request.timeoutInterval.rounded(.up)
      if timeLimit != request.timeoutInterval { request.timeoutInterval = timeLimit }
      if case .file = self.upload { request.removeFile() }
      if case .file(let file) = upload {
        let length = try request.send(file, whenCutShort: failCutShort)
        state.withLock { $0.bytesToSend = length }
      }
    #endif
    if case .data(let data) = upload { return session.uploadTask(with: request, from: data) }
    return session.dataTask(with: request)
  }

  #if canImport(FoundationNetworking)
    /// A stream of the file to send, if there is one.
    var bodyStream: InputStream? {
      guard case .file(let file) = upload else { return nil }
      return FileStream(file, state.withLock { $0.bytesToSend }, whenCutShort: failCutShort)
    }

    private func failCutShort() {
      let reason = "The file became shorter while it was sent."
      fail(
        URLError(.requestBodyStreamExhausted, userInfo: [NSLocalizedDescriptionKey: reason])
          .readable(request))
    }
  #endif

  /// Sets the closure that cancels the current task; calls it if the transfer has ended.
  func begin(cancel: @escaping @Sendable () -> Void) {
    let isOver = state.withLock { state in
      if state.outcome == nil { state.cancel = cancel }
      return state.outcome != nil
    }
    if isOver { cancel() }
  }

  /// Stops the task; returns the result if the transfer had already ended.
  private func stop() -> Result<Arrival, any Error>? {
    let (old, _) = end { _ in .failure(CancellationError()) }
    old.cancel?()
    return old.outcome
  }

  /// Ends the transfer with the result that `makeOutcome` returns, unless it has ended.
  ///
  /// Returns the earlier state, because it refers to user code, which must be released outside the
  /// lock. If the transfer had ended, that state contains nothing but the earlier result.
  private func end(
    _ makeOutcome: (State) -> Result<Arrival, any Error>
  ) -> (State, Result<Arrival, any Error>) {
    let (old, outcome): (State, Result<Arrival, any Error>) = state.withLock { state in
      let outcome = state.outcome ?? makeOutcome(state)
      if case .file(let file) = state.sink { file.discard() }
      return (exchange(&state, with: State(outcome: outcome)), outcome)
    }
    if old.outcome == nil { progress?.end(successfully: (try? outcome.get()) != nil) }
    return (old, outcome)
  }

  // MARK: Events of the session

  /// Whether the body of the response is written to a file.
  let writesFile: Bool

  func receive(_ response: URLResponse) {
    state.withLock { state in
      state.response = response
      state.body = Data()
      if upload == nil { state.bytes = 0 }
    }
    if upload == nil { progress?.expect(response.lengthOfDecodedBody) }
  }

  /// Receives `response` if none has been received.
  func receiveIfFirst(_ response: URLResponse) {
    if state.withLock({ $0.response == nil }) { receive(response) }
  }

  func receive(_ data: Data) {
    do {
      let sink = state.withLock { $0.outcome == nil && accepts($0.response) ? $0.sink : nil }
      // The user's code must not run under the lock. The session delivers one piece at a time.
      if case .receiver(let receive) = sink { try receive(data) }
      let bytes: Int64? = try state.withLock { state in
        guard state.outcome == nil, state.failure == nil else { return nil }
        switch sink {
        case .file(let file): try file.write(data)
        case .receiver: break
        case nil:
          let limit = state.sink == nil ? data.count : Self.refusedBodyLimit - state.body.count
          state.body.append(data.prefix(limit))
        }
        guard upload == nil else { return nil }
        state.bytes += Int64(data.count)
        return state.bytes
      }
      if let bytes { progress?.advance(to: bytes) }
    } catch {
      fail(error)
    }
  }

  /// Stores the error of the sink or of the file to send, and stops the task.
  private func fail(_ error: any Error) {
    state.withLock { state -> (@Sendable () -> Void)? in
      // The pieces that arrive until the task stops are dropped.
      state.failure = error
      return exchange(&state.cancel, with: nil)
    }?()
  }

  func send(_ count: Int64, of total: Int64) {
    guard upload != nil else { return }
    let (bytes, total) = state.withLock { state in
      state.bytes += count
      return (state.bytes, max(total, state.bytesToSend))
    }
    progress?.expect(total)
    progress?.advance(to: total > 0 ? min(bytes, total) : bytes)
  }

  func complete(_ error: (any Error)?) {
    let (old, outcome) = end { state in Result { try result(of: state, error) } }
    // The session's queue serves all of its transfers, so no handler in place runs on it.
    Background.run { old.settle?(outcome) }
  }

  private func result(of state: State, _ error: (any Error)?) throws -> Arrival {
    if let error = state.failure { throw error }
    if let error { throw (error as? URLError)?.readable(request) ?? error }
    guard let response = state.response else {
      throw URLError(.badServerResponse).readable(request)
    }
    if state.sink != nil, !accepts(response), let response = response as? HTTPURLResponse {
      throw HTTPStatusError(response, body: state.body)
    }
    if case .file(let file) = state.sink { try file.commit() }
    return (state.body, response)
  }

  private func accepts(_ response: URLResponse?) -> Bool {
    guard !acceptsAnyStatus, let response = response as? HTTPURLResponse else { return true }
    return HTTPStatusError.successes.contains(response.statusCode)
  }

  // MARK: URLSessionDataDelegate

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    receive(response)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    receive(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64, totalBytesExpectedToSend: Int64
  ) {
    send(bytesSent, of: totalBytesExpectedToSend)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    complete(error)
  }
}

extension URLRequest {
  /// The request with POST in place of GET, the default method, which can't have a body.
  fileprivate var withBodyMethod: URLRequest {
    guard httpMethod == nil || httpMethod == "GET" else { return self }
    var request = self
    request.httpMethod = "POST"
    return request
  }
}

extension URLResponse {
  /// The number of bytes that will arrive; -1 if it's unknown.
  fileprivate var lengthOfDecodedBody: Int64 {
    // The length that the server states is that of the encoded body.
    let encoding = (self as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Encoding")
    guard encoding == nil || encoding?.lowercased() == "identity" else { return -1 }
    return max(-1, expectedContentLength)
  }
}
