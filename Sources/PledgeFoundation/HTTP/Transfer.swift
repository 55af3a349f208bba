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

  private struct State {
    var cancel: (@Sendable () -> Void)?
    var response: URLResponse?
    var body = Data()
    var file: PartialFile?
    /// Why the body cannot be kept.
    var failure: (any Error)?
    var bytes: Int64 = 0
    /// How it ended, once it has.
    var outcome: Result<Arrival, any Error>?
  }

  /// How much of the body of an answer that is refused goes into the error.
  private static let refusedBodyLimit = 65_536

  private let state: Locked<State>
  private let progress: TransferProgress?
  private let counting: Counting
  private let storesFile: Bool
  private let acceptsAnyStatus: Bool
  private let settled = Locked<(@Sendable (Result<Arrival, any Error>) -> Void)?>(nil)

  init(
    progress: Progress?, counting: Counting, file: sending PartialFile? = nil,
    acceptsAnyStatus: Bool = true
  ) {
    self.progress = progress.map(TransferProgress.init)
    self.counting = counting
    self.acceptsAnyStatus = acceptsAnyStatus
    storesFile = file != nil
    state = Locked(State(file: file))
  }

  /// Starts the task that `make` returns, and makes a promise of its outcome.
  func promise<Value: Sendable>(
    in session: URLSession, fileID: StaticString, line: UInt,
    of transform: @escaping @Sendable (Arrival) -> Value = { $0 },
    _ make: (URLSession) -> URLSessionTask
  ) -> Promise<Value> {
    let (promise, resolver) = Promise<Value>.withResolvers(fileID: fileID, line: line)
    settled.withLock { $0 = { resolver.resolve($0.map(transform)) } }
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
    let (cancel, earlier) = state.withLock { state in
      guard state.outcome == nil else { return (nil as (@Sendable () -> Void)?, state.outcome) }
      state.outcome = .failure(CancellationError())
      state.file?.discard()
      state.file = nil
      state.body = Data()
      defer { state.cancel = nil }
      return (state.cancel, nil)
    }
    settled.withLock { $0 = nil }
    progress?.end(successfully: false)
    cancel?()
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
    let (bytes, broken): (Int64?, (@Sendable () -> Void)?) = state.withLock { state in
      guard state.outcome == nil, state.failure == nil else { return (nil, nil) }
      if !storesFile {
        state.body.append(data)
      } else if accepts(state.response) {
        do {
          try state.file?.write(data)
        } catch {
          state.failure = error
          return (nil, state.cancel)
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
    let outcome: Result<Arrival, any Error>? = state.withLock { state in
      guard state.outcome == nil else { return nil }
      let outcome = Result { try finish(&state, error) }
      state.file?.discard()
      state.file = nil
      state.body = Data()
      state.cancel = nil
      state.outcome = outcome
      return outcome
    }
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
    settle?(outcome)
  }

  private func finish(_ state: inout State, _ error: (any Error)?) throws -> Arrival {
    if let error = state.failure ?? error { throw error }
    guard let response = state.response else { throw PromiseError.noValueAndNoError }
    if storesFile, !accepts(response), let response = response as? HTTPURLResponse {
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
