import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request, whose body is received or sent in pieces.
///
/// `@unchecked Sendable`: `state` and `settled` are mutexes.
final class Transfer: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  typealias Arrival = (data: Data, response: URLResponse)

  enum Counting {
    case sent
    case received
  }

  /// A closure that receives the pieces of the body.
  struct Receiver: Sendable {
    let call: @Sendable (Data) throws -> Void
  }

  private struct State {
    var cancel: (@Sendable () -> Void)?
    var response: URLResponse?
    var body = Data()
    var file: PartialFile?
    var receiver: Receiver?
    /// The error that `receiver` threw or that writing to `file` caused.
    var failure: (any Error)?
    var bytes: Int64 = 0
    /// The result; nil until the transfer ends.
    var outcome: Result<Arrival, any Error>?
  }

  private struct Settler {
    let call: @Sendable (Result<Arrival, any Error>) -> Void
  }

  /// The maximum number of bytes of a rejected response's body that its error contains.
  private static let refusedBodyLimit = 65_536

  private let state: Mutex<State>
  private let progress: TransferProgress?
  private let counting: Counting
  /// Whether the body is passed to a file or a receiver, and not collected.
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

  /// Starts the task that `make` returns, and returns a promise for its result.
  func promise<Value: Sendable>(
    in session: URLSession, fileID: StaticString, line: UInt,
    of transform: @escaping @Sendable (Arrival) -> Value = { $0 },
    _ make: (URLSession) -> URLSessionTask
  ) -> Promise<Value> {
    let (promise, resolver) = Promise<Value>.withResolvers(fileID: fileID, line: line)
    settled.withLock { $0 = Settler { resolver.resolve($0.map(transform)) } }
    resolver.onCancel {
      // The file may have been renamed in the meantime; then the transfer has succeeded.
      if let outcome = self.stop() { resolver.resolve(outcome.map(transform)) }
    }
    let prepared = session.prepare(self, make)
    state.withLock { $0.cancel = prepared.cancel }
    progress?.begin { promise.cancel() }
    prepared.task.resume()
    return promise
  }

  /// Stops the task; returns the result if the task had already ended.
  private func stop() -> Result<Arrival, any Error>? {
    // The receiver's captures and its error are released at the end, outside the lock.
    let (cancel, receiver, failure, earlier) = state.withLock { state in
      guard state.outcome == nil else {
        return (
          nil as (@Sendable () -> Void)?, nil as Receiver?, nil as (any Error)?, state.outcome
        )
      }
      state.file?.discard()
      defer { state = State(outcome: .failure(CancellationError())) }
      return (state.cancel, state.receiver, state.failure, nil)
    }
    settled.withLock { $0 = nil }
    progress?.end(successfully: false)
    cancel?()
    withExtendedLifetime((receiver, failure)) {}
    return earlier
  }

  // MARK: Events of the session

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

  /// Passes `data` to the receiver if there is one; returns false if the receiver throws.
  private func pass(_ data: Data) -> Bool {
    let receiver = state.withLock { state in
      accepts(state.response) && state.outcome == nil && state.failure == nil
        ? state.receiver : nil
    }
    // The user's code must not run under the lock. The session delivers one piece at a time.
    do {
      try receiver?.call(data)
      return true
    } catch {
      state.withLock { fail(&$0, error) }?()
      return false
    }
  }

  /// Stores the error; returns the closure that stops the task.
  private func fail(_ state: inout State, _ error: any Error) -> (@Sendable () -> Void)? {
    state.failure = error
    // Only one call receives it: cancelling a task twice concurrently crashes Foundation on Linux.
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
    // The session's queue serves all of its transfers, so no handler in place runs on it.
    Background.run { settle?.call(outcome) }
  }

  private func finish(_ state: inout State, _ error: (any Error)?) throws -> Arrival {
    if let error = state.failure { throw error }
    if let error { throw (error as? URLError)?.readable ?? error }
    guard let response = state.response else {
      // For example, a redirect without a location.
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
  /// The number of bytes that will arrive; -1 if it's unknown.
  fileprivate var lengthOfDecodedBody: Int64 {
    // The length that the server states is that of the encoded body.
    let encoding = (self as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Encoding")
    guard encoding == nil || encoding?.lowercased() == "identity" else { return -1 }
    return max(-1, expectedContentLength)
  }
}
