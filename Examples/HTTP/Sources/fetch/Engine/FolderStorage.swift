import Foundation
import Synchronization

extension PartialFile: Part {}

/// A storage that keeps files in a folder.
final class FolderStorage: Storage {
  private struct State {
    /// The partial files that are in use.
    var parts: [ObjectIdentifier: PartialFile] = [:]
    var kept = 0
    var isClosed = false
  }

  /// The path of the folder, with a slash at the end.
  private let folder: String
  private let keepsExisting: Bool
  private let state = Mutex(State())

  /// Creates a storage in a folder, which must exist.
  ///
  /// - Parameters:
  ///   - directory: The folder.
  ///   - keepsExisting: Whether a file that exists is never replaced; otherwise, it is replaced when
  ///     the new one is complete.
  init(in directory: URL, keepsExisting: Bool = false) {
    let path = directory.path(percentEncoded: false)
    folder = path.hasSuffix("/") ? path : path + "/"
    self.keepsExisting = keepsExisting
  }

  /// The number of partial files that were kept for a later run.
  var keptCount: Int { state.withLock { $0.kept } }

  /// Returns the size of an existing file that doesn't need to be downloaded; nil otherwise.
  ///
  /// A file with the right checksum isn't downloaded again. Throws ``ChecksumMismatch`` if it has
  /// another one and must be kept.
  func present(_ file: Download) throws -> Int? {
    guard file.checksum != nil || keepsExisting else { return nil }
    let path = folder + file.name
    // A file whose status can't be read counts as missing; the download then reports why it can't
    // be written.
    var status = stat()
    guard stat(path, &status) == 0 else {
      // A symbolic link without a target is kept, too.
      return keepsExisting && lstat(path, &status) == 0 ? 0 : nil
    }
    // Opening it reports that it is a folder.
    guard status.st_mode & S_IFMT != S_IFDIR else { return nil }
    let size = Int(status.st_size)
    guard let expected = file.checksum else { return size }
    let actual = try Checksum(ofFileAt: path)
    if actual == expected { return size }
    if keepsExisting { throw ChecksumMismatch(expected: expected, actual: actual) }
    return nil
  }

  /// Returns the partial file for a name; throws `CancellationError` after ``close()``.
  func open(_ name: String) throws -> any Part {
    // Under the lock, so that no file is opened after `close()` has begun.
    try state.withLock { state in
      guard !state.isClosed else { throw CancellationError() }
      let part = try PartialFile(for: name, in: folder)
      state.parts[ObjectIdentifier(part)] = part
      return part
    }
  }

  func commit(_ part: any Part) throws {
    if let file = part as? PartialFile { try file.commit(replacing: !keepsExisting) }
  }

  func close(_ part: any Part) {
    guard let file = part as? PartialFile else { return }
    let isKept = file.close()
    // Only now, so that `close()` still closes, and waits for, a file that is being removed. Both
    // threads learn whether it was kept; the first one counts it.
    state.withLock { state in
      if state.parts.removeValue(forKey: ObjectIdentifier(file)) != nil, isKept { state.kept += 1 }
    }
  }

  /// Closes all partial files and prevents opening more; later writes fail with `EBADF`.
  func close() {
    let parts = state.withLock { state in
      state.isClosed = true
      return state.parts.values
    }
    for part in parts { close(part) }
  }
}
