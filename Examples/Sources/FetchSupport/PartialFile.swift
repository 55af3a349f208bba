import Foundation
import Synchronization

/// A file that is being downloaded, under a name that says so.
///
/// The bytes go to `NAME.part`. ``commit()`` makes them durable and gives the
/// file its final name in one step, so that a file of that name is always
/// whole. ``discard()``, or letting go of the object, removes the partial file.
///
/// No two partial files share a name: not in this process, nor in another, for
/// each is locked while it is open. Downloads of one file from several mirrors
/// at once are told apart by their copy number.
///
/// All methods can be called from any thread.
public final class PartialFile: Sendable {
  /// Where the bytes are until they are committed.
  public let url: URL

  /// Where the file will be once it is committed.
  public let destination: URL

  private struct State {
    var descriptor: Int32
    var byteCount = 0
  }

  private let state: Mutex<State>

  /// Creates an empty partial file.
  ///
  /// What an earlier, broken off download left under the name is emptied.
  ///
  /// - Parameters:
  ///   - name: The final name, a safe one as made by ``FileNames``.
  ///   - directory: The folder, which exists.
  ///   - copy: Tells downloads of the same file apart; 1 is the first.
  public init(for name: String, in directory: URL, copy: Int = 1) throws(FileFailure) {
    destination = directory.appending(component: name, directoryHint: .notDirectory)
    url = directory.appending(
      component: Self.partialName(for: name, copy: copy), directoryHint: .notDirectory)
    let path = url.path(percentEncoded: false)
    state = Mutex(State(descriptor: try Self.openLocked(path)))
  }

  deinit {
    discard()
  }

  /// How many bytes were written so far.
  public var byteCount: Int {
    state.withLock { $0.byteCount }
  }

  /// Writes `data` at the end of the file.
  ///
  /// After ``commit()`` or ``discard()`` this throws a failure with `EBADF`.
  ///
  /// - Parameter data: The bytes.
  public func append(_ data: Data) throws(FileFailure) {
    let failure = state.withLock { state -> Int32? in
      for region in data.regions {
        let failure = region.withUnsafeBytes { Self.write($0, to: state.descriptor) }
        if let failure { return failure }
        state.byteCount += region.count
      }
      return nil
    }
    if let failure { throw FileFailure(.write, url.path(percentEncoded: false), failure) }
  }

  /// Makes the bytes durable and gives the file its final name.
  ///
  /// A file that has the final name already is replaced. If this fails, the
  /// partial file is still there, to be committed again or discarded.
  ///
  /// - Returns: The file under its final name.
  @discardableResult
  public func commit() throws(FileFailure) -> URL {
    let path = url.path(percentEncoded: false)
    let finalPath = destination.path(percentEncoded: false)
    let failure = state.withLock { state -> FileFailure? in
      guard fsync(state.descriptor) == 0 else { return FileFailure(.save, path, errno) }
      guard rename(path, finalPath) == 0 else { return FileFailure(.rename, path, errno) }
      close(state.descriptor)
      state.descriptor = -1
      return nil
    }
    if let failure { throw failure }
    try Self.saveDirectory(destination.deletingLastPathComponent().path(percentEncoded: false))
    return destination
  }

  /// Removes the partial file.
  ///
  /// After ``commit()``, or a second time, this does nothing.
  public func discard() {
    state.withLock { state in
      guard state.descriptor >= 0 else { return }
      unlink(url.path(percentEncoded: false))
      close(state.descriptor)
      state.descriptor = -1
    }
  }

  // MARK: - Names

  /// Returns the name of a partial file.
  ///
  /// - Parameters:
  ///   - name: The final name.
  ///   - copy: Tells downloads of the same file apart; 1 is the first.
  /// - Returns: `NAME.part`, or `NAME.part2` and so on for further copies.
  public static func partialName(for name: String, copy: Int = 1) -> String {
    name + ".part" + (copy == 1 ? "" : String(copy))
  }

  /// Returns whether a partial file could have this name.
  ///
  /// - Parameter name: The name of a file.
  /// - Returns: Whether it ends in `.part` or in `.part` and a number.
  public static func isPartialName(_ name: String) -> Bool {
    let stem = name.utf8.reversed().drop { UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") }
    return String(decoding: stem.reversed(), as: UTF8.self).lowercased().hasSuffix(".part")
  }

  // MARK: - System calls

  private static func openLocked(_ path: String) throws(FileFailure) -> Int32 {
    while true {
      let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)
      guard file >= 0 else { throw FileFailure(.open, path, errno) }
      guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
        let code = errno
        close(file)
        throw FileFailure(.lock, path, code)
      }
      // Between opening and locking, the file may have been given its final
      // name by the process that had it: then it must not be emptied.
      guard isStill(file, at: path) else {
        close(file)
        continue
      }
      guard ftruncate(file, 0) == 0 else {
        let code = errno
        close(file)
        throw FileFailure(.write, path, code)
      }
      return file
    }
  }

  private static func isStill(_ file: Int32, at path: String) -> Bool {
    var opened = stat()
    var named = stat()
    return fstat(file, &opened) == 0 && lstat(path, &named) == 0
      && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to file: Int32) -> Int32? {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest)
      #if canImport(Darwin)
        let count = Darwin.write(file, piece.baseAddress, piece.count)
      #else
        let count = Glibc.write(file, piece.baseAddress, piece.count)
      #endif
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }

  private static func saveDirectory(_ path: String) throws(FileFailure) {
    let directory = open(path, O_RDONLY | O_CLOEXEC)
    guard directory >= 0 else { throw FileFailure(.save, path, errno) }
    defer { close(directory) }
    // Some file systems cannot save a folder by itself and say EINVAL.
    guard fsync(directory) == 0 || errno == EINVAL else {
      throw FileFailure(.save, path, errno)
    }
  }
}
