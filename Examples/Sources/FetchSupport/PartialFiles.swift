import Foundation
import Synchronization

/// The partial files of one batch of downloads, so that all are put in order when it is broken off.
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

  /// The path of the folder, which ends in a slash.
  let folder: String

  private let continuing: Bool
  private let state = Mutex(State())

  /// Creates an empty batch.
  ///
  /// - Parameters:
  ///   - directory: The folder for the files, which exists.
  ///   - continuing: Whether files under their final names are taken for the starts of downloads.
  public init(in directory: URL, continuing: Bool = false) {
    self.directory = directory
    let path = directory.path(percentEncoded: false)
    folder = path.hasSuffix("/") ? path : path + "/"
    self.continuing = continuing
  }

  /// How many partial files were kept for a later run.
  public var keptCount: Int { state.withLock { $0.kept } }

  /// The path of the file of that name.
  public func path(of name: String) -> String { folder + name }

  /// Opens a partial file, as ``PartialFile/init(for:in:continuing:)`` does.
  ///
  /// After ``close()`` this throws `CancellationError`.
  public func open(_ name: String) throws -> PartialFile {
    // Under the lock, so that none is opened once `close` has begun.
    try state.withLock { state in
      guard !state.isClosed else { throw CancellationError() }
      let file = try PartialFile(for: name, inFolder: folder, continuing: continuing)
      state.files[ObjectIdentifier(file)] = file
      return file
    }
  }

  /// Closes a file whose download has ended, and keeps it if it can be continued.
  public func close(_ file: PartialFile) {
    let isKept = file.close()
    // Only now, so that `close()` waits for what is being removed.
    state.withLock { state in
      state.files[ObjectIdentifier(file)] = nil
      if isKept { state.kept += 1 }
    }
  }

  /// Closes all partial files, and opens no more; writing to one of them fails with `EBADF`.
  public func close() {
    let files = state.withLock { state in
      state.isClosed = true
      return Array(state.files.values)
    }
    for file in files { close(file) }
  }
}
