import Foundation
import Synchronization

/// The partial files of one batch of downloads, so that none is left behind when it is broken off.
///
/// All methods can be called from any thread.
public final class PartialFiles: Sendable {
  private struct State {
    var files: [String: [PartialFile]] = [:]
    var isClosed = false
  }

  /// The folder for the files.
  public let directory: URL

  private let state = Mutex(State())

  /// Creates an empty batch.
  ///
  /// - Parameter directory: The folder for the files, which exists.
  public init(in directory: URL) {
    self.directory = directory
  }

  /// Creates an empty partial file, as ``PartialFile/init(for:in:copy:)`` does.
  ///
  /// After ``close()`` this throws `CancellationError`.
  ///
  /// - Parameters:
  ///   - name: The final name, a safe one as made by ``FileNames``.
  ///   - copy: Tells downloads of the same file apart; 1 is the first.
  /// - Returns: The file.
  public func open(_ name: String, copy: Int) throws -> PartialFile {
    // Under the lock, so that none is opened once `close` has begun.
    try state.withLock { state in
      guard !state.isClosed else { throw CancellationError() }
      let file = try PartialFile(for: name, in: directory, copy: copy)
      state.files[name, default: []].append(file)
      return file
    }
  }

  /// Discards what is left of the copies of a file that has its final name, or was given up.
  ///
  /// - Parameter name: The final name.
  public func discard(_ name: String) {
    let files = state.withLock { $0.files[name] ?? [] }
    for file in files { file.discard() }
    // Only now, so that `close` waits for what is being removed.
    state.withLock { $0.files[name] = nil }
  }

  /// Discards all partial files, and opens no more.
  ///
  /// Whoever writes to one of them gets a failure with `EBADF`.
  public func close() {
    let files = state.withLock { state in
      state.isClosed = true
      return state.files.values.joined()
    }
    for file in files { file.discard() }
  }
}
