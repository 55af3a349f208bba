import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request whose bytes are looked at as they come and go.
///
/// `@unchecked Sendable`: all that changes lies in `state`, the lock.
final class Transfer: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  typealias Arrival = (data: Data, response: URLResponse)

  enum Counting {
    case sent
    case received
  }

  /// What takes the body piece by piece.
  struct Receiver: Sendable {
    let call: @Sendable (Data) throws -> Void
  }

  private struct State {
    var cancel: (@Sendable () -> Void)?
    var response: URLResponse?
    var body = Data()
    var file: PartialFile?
    var receiver: Receiver?
    /// Why the body cannot be kept.
    var failure: (any Error)?
    var bytes: Int64 = 0
    /// How it ended, once it has.
    var outcome: Result<Arrival, any Error>?
  }

  private struct Settler {
    let call: @Sendable (Result<Arrival, any Error>) -> Void
  }

  /// How much of the body of an answer that is refused goes into the error.
  private static let refusedBodyLimit = 65_536

  private let state: Mutex<State>
  private let progress: TransferProgress?
  private let counting: Counting
  /// Whether the body goes elsewhere and is not kept here.
  private let passesOn: Bool
  private let acceptsAnyStatus: Bool
  private let settled = Mutex<Settler?>(nil)

  init(
    progress: Progress?, counting: Counting, file: sending PartialFile? = nil,
    receiver: Receiver? = nil, acceptsAnyStatus: Bool = true
  ) {
    self.progress = progress.map(TransferProgress.init)
    self.counting = counting
    self.acceptsAnyStatus = acceptsAnyStatus
    passesOn = file != nil || receiver != nil
    state = Mutex(State(file: file, receiver: receiver))
  }

  /// Starts the task that `make` returns, and makes a promise of its outcome.
  func promise<Value: Sendable>(
    in session: URLSession, fileID: StaticString, line: UInt,
    of transform: @escaping @Sendable (Arrival) -> Value = { $0 },
    _ make: (URLSession) -> URLSessionTask
  ) -> Promise<Value> {
    let (promise, resolver) = Promise<Value>.withResolvers(fileID: fileID, line: line)
    settled.withLock { $0 = Settler { resolver.resolve($0.map(transform)) } }
    resolver.onCancel {
      // The file may have got its name in this moment: then this was a success.
      if let outcome = self.stop() { resolver.resolve(outcome.map(transform)) }
    }
    let prepared = session.prepare(self, make)
    state.withLock { $0.cancel = prepared.cancel }
    progress?.begin { promise.cancel() }
    prepared.task.resume()
    return promise
  }

  /// Stops the task; returns the outcome if it had ended before.
  private func stop() -> Result<Arrival, any Error>? {
    // What the receiver captured goes at the end, outside of the lock.
    let (cancel, receiver, earlier) = state.withLock { state in
      guard state.outcome == nil else {
        return (nil as (@Sendable () -> Void)?, nil as Receiver?, state.outcome)
      }
      state.file?.discard()
      defer { state = State(outcome: .failure(CancellationError())) }
      return (state.cancel, state.receiver, nil)
    }
    settled.withLock { $0 = nil }
    progress?.end(successfully: false)
    cancel?()
    withExtendedLifetime(receiver) {}
    return earlier
  }

  // MARK: What the session tells

  func receive(_ response: URLResponse) {
    state.withLock { state in
      state.response = response
      state.bytes = counting == .received ? 0 : state.bytes
      state.body = Data()
    }
    if counting == .received { progress?.expect(response.lengthOfDecodedBody) }
  }

  func receive(_ data: Data) {
    guard pass(data) else { return }
    let (bytes, broken): (Int64?, (@Sendable () -> Void)?) = state.withLock { state in
      guard state.outcome == nil, state.failure == nil else { return (nil, nil) }
      if !passesOn {
        state.body.append(data)
      } else if accepts(state.response) {
        do {
          try state.file?.write(data)
        } catch {
          return (nil, fail(&state, error))
        }
      } else {
        state.body.append(data.prefix(Self.refusedBodyLimit - state.body.count))
      }
      guard counting == .received else { return (nil, nil) }
      state.bytes += Int64(data.count)
      return (state.bytes, nil)
    }
    broken?()
    if let bytes { progress?.advance(to: bytes) }
  }

  /// Hands `data` to the receiver if there is one; returns whether all is well.
  private func pass(_ data: Data) -> Bool {
    let receiver = state.withLock { state in
      accepts(state.response) && state.outcome == nil && state.failure == nil
        ? state.receiver : nil
    }
    // The user's code: not under the lock. The session hands on one piece after the other.
    do {
      try receiver?.call(data)
      return true
    } catch {
      state.withLock { fail(&$0, error) }?()
      return false
    }
  }

  /// Notes why the body cannot be kept; returns what stops the task.
  private func fail(_ state: inout State, _ error: any Error) -> (@Sendable () -> Void)? {
    state.failure = error
    // Once: to cancel a task twice at a time is a fatal error inside of Foundation on Linux.
    return exchange(&state.cancel, with: nil)
  }

  func send(_ count: Int64, of total: Int64) {
    guard counting == .sent else { return }
    let bytes = state.withLock { state in
      state.bytes += count
      return state.bytes
    }
    progress?.expect(total)
    progress?.advance(to: total > 0 ? min(bytes, total) : bytes)
  }

  func complete(_ error: (any Error)?) {
    let (outcome, receiver): (Result<Arrival, any Error>?, Receiver?) = state.withLock { state in
      guard state.outcome == nil else { return (nil, nil) }
      let outcome = Result { try finish(&state, error) }
      state.file?.discard()
      defer { state = State(outcome: outcome) }
      return (outcome, state.receiver)
    }
    withExtendedLifetime(receiver) {}
    guard let outcome else { return }
    if case .success = outcome {
      progress?.end(successfully: true)
    } else {
      progress?.end(successfully: false)
    }
    let settle = settled.withLock { settled in
      defer { settled = nil }
      return settled
    }
    settle?.call(outcome)
  }

  private func finish(_ state: inout State, _ error: (any Error)?) throws -> Arrival {
    if let error = state.failure { throw error }
    if let error { throw (error as? URLError)?.readable ?? error }
    guard let response = state.response else {
      // Such as a redirection that does not say where to.
      throw URLError(.badServerResponse).readable
    }
    if passesOn, !accepts(response), let response = response as? HTTPURLResponse {
      throw HTTPStatusError(response, body: state.body)
    }
    try state.file?.commit()
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

extension URLResponse {
  /// How many bytes will arrive, as far as that can be known; -1 otherwise.
  fileprivate var lengthOfDecodedBody: Int64 {
    // The length that the server tells is that of the encoded body.
    let encoding = (self as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Encoding")
    guard encoding == nil || encoding?.lowercased() == "identity" else { return -1 }
    return max(-1, expectedContentLength)
  }
}
