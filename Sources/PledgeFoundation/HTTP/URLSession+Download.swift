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
  /// last byte has arrived; a file that was there is replaced. Whatever goes wrong, `destination`
  /// is left as it was, and the hidden file is removed.
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
  /// last byte has arrived; a file that was there is replaced. Whatever goes wrong, `destination`
  /// is left as it was, and the hidden file is removed.
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

/// A file that gets its name when it is complete.
///
/// Not thread-safe: its ``Transfer`` guards it.
final class PartialFile {
  private let destination: URL
  private let path: URL
  private let handle: FileHandle
  private var isOpen = true

  init(for destination: URL) throws {
    self.destination = destination
    // Beside the destination, for only within a file system can a file be renamed in one step.
    path = destination.deletingLastPathComponent()
      .appendingPathComponent(".\(UUID().uuidString).partial")
    try Data().write(to: path, options: .withoutOverwriting)
    do {
      handle = try FileHandle(forWritingTo: path)
    } catch {
      try? FileManager.default.removeItem(at: path)
      throw error
    }
  }

  deinit { discard() }

  func write(_ data: Data) throws { try handle.write(contentsOf: data) }

  /// Gives the file its name.
  func commit() throws {
    guard isOpen else { return }
    isOpen = false
    do {
      try handle.close()
      try replaceDestination()
    } catch {
      try? FileManager.default.removeItem(at: path)
      throw error
    }
  }

  /// Removes the file, unless it has got its name.
  func discard() {
    guard isOpen else { return }
    isOpen = false
    try? handle.close()
    try? FileManager.default.removeItem(at: path)
  }

  private func replaceDestination() throws {
    #if os(Windows)
      _ = try FileManager.default.replaceItemAt(destination, withItemAt: path)
    #else
      let failed = path.withUnsafeFileSystemRepresentation { from in
        destination.withUnsafeFileSystemRepresentation { to in
          guard let from, let to else { return true }
          return rename(from, to) != 0
        }
      }
      if failed { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    #endif
  }
}
