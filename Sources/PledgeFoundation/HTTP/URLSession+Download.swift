import Foundation
import Pledge

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLSession {
  /// Downloads the contents of `url` into the file `destination`.
  ///
  /// ```swift
  /// URLSession.shared.download(url, to: file).done { file, _ in open(file) }
  /// ```
  ///
  /// The bytes are written to a hidden file next to `destination`, which is renamed in one step
  /// when the last byte has arrived. An existing file is replaced, and its permissions are kept. If
  /// `destination` is a symbolic link, the file that it points to is replaced. After a failure,
  /// `destination` is unchanged, and the hidden file is removed.
  ///
  /// The promise is rejected with ``HTTPStatusError`` if the HTTP status doesn't indicate success,
  /// with `URLError` if the request fails, and with the file system's error if the file can't be
  /// written. If the file can't be created, no request is sent. A folder, a device, or a pipe is
  /// not replaced: the promise is rejected with `PromiseError.invalidArgument`.
  ///
  /// **Memory.** On Linux, Foundation reads nothing, also for other requests, while a piece is
  /// written, so that no more than one piece is in memory.
  ///
  /// **Cancellation.** Cancelling the promise cancels the request immediately and removes the
  /// hidden file inside that call. The promise is then rejected with `CancellationError`.
  ///
  /// - Parameters:
  ///   - url: The URL to download.
  ///   - destination: The file to create; its folder must exist.
  ///   - acceptsAnyStatus: Whether to store the body of a response whose status doesn't indicate
  ///     success, such as 404.
  ///   - progress: Counts the bytes as they arrive. Its total is negative (indeterminate)
  ///     until the server states the length. Cancelling it cancels the promise.
  ///   - fileID: The file to name in reports; the default is the caller's.
  ///   - line: The line to name in reports; the default is the caller's.
  public func download(
    _ url: URL, to destination: URL, acceptsAnyStatus: Bool = false, progress: Progress? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<(file: URL, response: URLResponse)> {
    download(
      URLRequest(url: url), to: destination, acceptsAnyStatus: acceptsAnyStatus,
      progress: progress, fileID: fileID, line: line)
  }

  /// The same as ``download(_:to:acceptsAnyStatus:progress:fileID:line:)-(URL,_,_,_,_,_)``, for
  /// `request`.
  public func download(
    _ request: URLRequest, to destination: URL, acceptsAnyStatus: Bool = false,
    progress: Progress? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<(file: URL, response: URLResponse)> {
    // Not a download task, because on Linux these don't remove their temporary file if they fail.
    do {
      return try Transfer(
        request, to: .file(PartialFile(for: destination)), acceptsAnyStatus: acceptsAnyStatus,
        progress: progress
      ).promise(in: self, fileID: fileID, line: line) { (destination, $0.response) }
    } catch {
      return .rejected(error, fileID: fileID, line: line)
    }
  }
}
