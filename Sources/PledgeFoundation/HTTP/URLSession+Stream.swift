import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSession {
  /// Loads the contents of `url` and passes them to a closure as they arrive.
  ///
  /// ```swift
  /// URLSession.shared.stream(url) { data in hash.update(data) }
  ///   .done { _ in print(hash.finalize()) }
  /// ```
  ///
  /// The request starts inside this call. The promise is fulfilled when `receive` has processed the
  /// last piece. It is rejected with ``HTTPStatusError`` if the HTTP status doesn't indicate
  /// success, in which case `receive` isn't called; with `URLError` if the request fails; and with
  /// the error that `receive` throws, which ends the request.
  ///
  /// **Execution.** `receive` runs on a background thread, one call at a time. On Linux, the session's
  /// other transfers continue while it runs. On other systems, it occupies the session's queue, so
  /// don't perform long work in it.
  ///
  /// **Memory.** On Linux, Foundation continues to read while `receive` runs and buffers what
  /// arrives. A receiver that is slower than the network therefore needs memory for the difference.
  /// If bodies are large and the receiver is slow, use a client with back pressure, such as
  /// AsyncHTTPClient.
  ///
  /// **Cancellation.** Cancelling the promise cancels the request immediately and closes its
  /// connection; the promise is then rejected with `CancellationError`. `receive` isn't called
  /// again; if it is running, it runs to completion.
  ///
  /// - Parameters:
  ///   - url: The URL to load.
  ///   - acceptsAnyStatus: Whether to pass the body of a response whose status doesn't indicate
  ///     success, such as 404, to `receive`.
  ///   - progress: Counts the bytes that `receive` has processed. Its total is negative
  ///     (indeterminate) until the server states the length. Cancelling it cancels the promise.
  ///   - receive: Receives the pieces in order, in the sizes in which they arrive.
  ///   - fileID: The file to name in reports; the default is the caller's.
  ///   - line: The line to name in reports; the default is the caller's.
  public func stream(
    _ url: URL, acceptsAnyStatus: Bool = false, progress: Progress? = nil,
    fileID: StaticString = #fileID, line: UInt = #line,
    to receive: @escaping @Sendable (Data) throws -> Void
  ) -> Promise<URLResponse> {
    stream(
      URLRequest(url: url), acceptsAnyStatus: acceptsAnyStatus, progress: progress,
      fileID: fileID, line: line, to: receive)
  }

  /// The same as ``stream(_:acceptsAnyStatus:progress:fileID:line:to:)-(URL,_,_,_,_,_)``, for
  /// `request`.
  public func stream(
    _ request: URLRequest, acceptsAnyStatus: Bool = false, progress: Progress? = nil,
    fileID: StaticString = #fileID, line: UInt = #line,
    to receive: @escaping @Sendable (Data) throws -> Void
  ) -> Promise<URLResponse> {
    Transfer(
      request, to: .receiver(receive), acceptsAnyStatus: acceptsAnyStatus, progress: progress
    ).promise(in: self, fileID: fileID, line: line) { $0.response }
  }
}
