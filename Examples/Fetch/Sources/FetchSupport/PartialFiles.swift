import Foundation
import Synchronization

/// The partial files of one batch of downloads, which can all be closed when the batch ends early.
///
/// All methods can be called from any thread.
public final class PartialFiles: Sendable {
  private struct State {
    var files: [ObjectIdentifier: PartialFile] = [:]
    var kept = 0
    var isClosed = false
  }

  /// The folder for the files.
  public let directory: URL

  /// The path of the folder, with a trailing slash.
  let folder: String

  private let continuing: Bool
  private let state = Mutex(State())

  /// Creates an empty batch.
  ///
  /// - Parameters:
  ///   - directory: The folder for the files, which must exist.
  ///   - continuing: Whether existing files with the final names are the starts of the downloads.
  public init(in directory: URL, continuing: Bool = false) {
    self.directory = directory
    let path = directory.path(percentEncoded: false)
    folder = path.hasSuffix("/") ? path : path + "/"
    self.continuing = continuing
  }

  /// The number of partial files that were kept for a later run.
  public var keptCount: Int { state.withLock { $0.kept } }

  /// Returns the path of the file with this name.
  public func path(of name: String) -> String { folder + name }

  /// Opens a partial file; see ``PartialFile/init(for:in:continuing:)``.
  ///
  /// After ``close()``, this throws `CancellationError`.
  public func open(_ name: String) throws -> PartialFile {
    // Under the lock, so that no file is opened after `close()` has begun.
    try state.withLock { state in
      guard !state.isClosed else { throw CancellationError() }
      let file = try PartialFile(for: name, inFolder: folder, continuing: continuing)
      state.files[ObjectIdentifier(file)] = file
      return file
    }
  }

  /// Closes a file whose download has ended, and keeps it if it can be resumed.
  public func close(_ file: PartialFile) {
    let isKept = file.close()
    // Only now, so that `close()` still closes, and waits for, a file that is being removed.
    state.withLock { state in
      state.files[ObjectIdentifier(file)] = nil
      if isKept { state.kept += 1 }
    }
  }

  /// Closes all partial files and prevents opening more; later writes fail with `EBADF`.
  public func close() {
    let files = state.withLock { state in
      state.isClosed = true
      return Array(state.files.values)
    }
    for file in files { close(file) }
  }
}
