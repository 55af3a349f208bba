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
  /// The bytes go to a hidden file beside `destination`, which takes that name in one step when the
  /// last byte has arrived; a file that was there is replaced, and its permissions are kept. Where
  /// `destination` is a symbolic link, the file that it points to is replaced. Whatever goes wrong,
  /// `destination` is left as it was, and the hidden file is removed.
  ///
  /// The promise is rejected with ``HTTPStatusError`` if the HTTP status is not one of success,
  /// with `URLError` if the request fails, and with the error of the file system if the file cannot
  /// be written; if it cannot be created, nothing is sent.
  ///
  /// **Cancellation.** Cancelling the promise cancels the request at once and removes the hidden
  /// file inside that call. The promise is then rejected with `CancellationError`.
  ///
  /// - Parameters:
  ///   - url: What to download.
  ///   - destination: The file to make; its folder must exist.
  ///   - acceptsAnyStatus: Whether the body of an answer that does not tell of success, such as 404,
  ///     shall be stored like any other.
  ///   - progress: Counts the bytes as they arrive. Its total is negative, which is to say
  ///     indeterminate, while the server has not told the length. Cancelling it cancels the promise.
  public func download(
    _ url: URL, to destination: URL, acceptsAnyStatus: Bool = false, progress: Progress? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<(file: URL, response: URLResponse)> {
    download(
      URLRequest(url: url), to: destination, acceptsAnyStatus: acceptsAnyStatus,
      progress: progress, fileID: fileID, line: line)
  }

  /// Downloads what `request` asks for into the file `destination`.
  ///
  /// The bytes go to a hidden file beside `destination`, which takes that name in one step when the
  /// last byte has arrived; a file that was there is replaced, and its permissions are kept. Where
  /// `destination` is a symbolic link, the file that it points to is replaced. Whatever goes wrong,
  /// `destination` is left as it was, and the hidden file is removed.
  ///
  /// The promise is rejected with ``HTTPStatusError`` if the HTTP status is not one of success,
  /// with `URLError` if the request fails, and with the error of the file system if the file cannot
  /// be written; if it cannot be created, nothing is sent.
  ///
  /// **Cancellation.** Cancelling the promise cancels the request at once and removes the hidden
  /// file inside that call. The promise is then rejected with `CancellationError`.
  ///
  /// - Parameters:
  ///   - request: What to download, and how.
  ///   - destination: The file to make; its folder must exist.
  ///   - acceptsAnyStatus: Whether the body of an answer that does not tell of success, such as 404,
  ///     shall be stored like any other.
  ///   - progress: Counts the bytes as they arrive. Its total is negative, which is to say
  ///     indeterminate, while the server has not told the length. Cancelling it cancels the promise.
  public func download(
    _ request: URLRequest, to destination: URL, acceptsAnyStatus: Bool = false,
    progress: Progress? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<(file: URL, response: URLResponse)> {
    // Not a download task: on Linux those leave their temporary file behind when they fail.
    let file: PartialFile
    do {
      file = try PartialFile(for: destination)
    } catch {
      return .rejected(error, fileID: fileID, line: line)
    }
    let transfer = Transfer(
      progress: progress, counting: .received, file: file, acceptsAnyStatus: acceptsAnyStatus)
    return transfer.promise(
      in: self, fileID: fileID, line: line, of: { (destination, $0.response) }
    ) { $0.dataTask(with: request) }
  }
}
