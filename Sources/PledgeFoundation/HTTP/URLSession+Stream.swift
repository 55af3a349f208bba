import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSession {
  /// Loads the contents of `url` and hands them on as they arrive.
  ///
  /// ```swift
  /// URLSession.shared.stream(url) { data in hash.update(data) }
  ///   .done { _ in print(hash.finalize()) }
  /// ```
  ///
  /// The request starts inside this call. The promise is fulfilled when the last piece was handed
  /// on. It is rejected with ``HTTPStatusError`` if the HTTP status is not one of success, and
  /// `receive` gets nothing of such an answer; with `URLError` if the request fails; and with the
  /// error that `receive` throws, which ends the request.
  ///
  /// **Execution.** `receive` runs on a thread of the session, and never twice at a time. While it
  /// runs, `receive` of no other transfer of this session is called: leave long work to others.
  ///
  /// **Memory.** Foundation on Linux reads on while `receive` runs, and keeps in memory what has
  /// arrived: a receiver that is slower than the network needs memory for the whole difference.
  /// Where bodies are large and the receiver is slow, use a client that holds the server back, such
  /// as AsyncHTTPClient.
  ///
  /// **Cancellation.** Cancelling the promise cancels the request at once and closes its
  /// connection; the promise is then rejected with `CancellationError`. `receive` is not called any
  /// more; if it is running, it runs to its end.
  ///
  /// - Parameters:
  ///   - url: What to load.
  ///   - acceptsAnyStatus: Whether the body of an answer that does not tell of success, such as 404,
  ///     shall be handed on like any other.
  ///   - progress: Counts the bytes once they were handed on. Its total is negative, which is to say
  ///     indeterminate, while the server has not told the length. Cancelling it cancels the promise.
  ///   - receive: Takes the pieces, in their order and of whatever size they arrive in.
  public func stream(
    _ url: URL, acceptsAnyStatus: Bool = false, progress: Progress? = nil,
    fileID: StaticString = #fileID, line: UInt = #line,
    to receive: @escaping @Sendable (Data) throws -> Void
  ) -> Promise<URLResponse> {
    stream(
      URLRequest(url: url), acceptsAnyStatus: acceptsAnyStatus, progress: progress,
      fileID: fileID, line: line, to: receive)
  }

  /// Loads what `request` asks for and hands it on as it arrives.
  ///
  /// The request starts inside this call. The promise is fulfilled when the last piece was handed
  /// on. It is rejected with ``HTTPStatusError`` if the HTTP status is not one of success, and
  /// `receive` gets nothing of such an answer; with `URLError` if the request fails; and with the
  /// error that `receive` throws, which ends the request.
  ///
  /// **Execution.** `receive` runs on a thread of the session, and never twice at a time. While it
  /// runs, `receive` of no other transfer of this session is called: leave long work to others.
  ///
  /// **Memory.** Foundation on Linux reads on while `receive` runs, and keeps in memory what has
  /// arrived: a receiver that is slower than the network needs memory for the whole difference.
  /// Where bodies are large and the receiver is slow, use a client that holds the server back, such
  /// as AsyncHTTPClient.
  ///
  /// **Cancellation.** Cancelling the promise cancels the request at once and closes its
  /// connection; the promise is then rejected with `CancellationError`. `receive` is not called any
  /// more; if it is running, it runs to its end.
  ///
  /// - Parameters:
  ///   - request: What to load, and how.
  ///   - acceptsAnyStatus: Whether the body of an answer that does not tell of success, such as 404,
  ///     shall be handed on like any other.
  ///   - progress: Counts the bytes once they were handed on. Its total is negative, which is to say
  ///     indeterminate, while the server has not told the length. Cancelling it cancels the promise.
  ///   - receive: Takes the pieces, in their order and of whatever size they arrive in.
  public func stream(
    _ request: URLRequest, acceptsAnyStatus: Bool = false, progress: Progress? = nil,
    fileID: StaticString = #fileID, line: UInt = #line,
    to receive: @escaping @Sendable (Data) throws -> Void
  ) -> Promise<URLResponse> {
    let transfer = Transfer(
      progress: progress, counting: .received, receiver: Transfer.Receiver(call: receive),
      acceptsAnyStatus: acceptsAnyStatus)
    return transfer.promise(in: self, fileID: fileID, line: line, of: { $0.response }) {
      $0.dataTask(with: request)
    }
  }
}
