import Foundation
import Synchronization

/// A file that is being downloaded, under a name that says so.
///
/// The bytes go to `NAME.part`. ``commit(syncing:)`` gives the file its final name in one step, so
/// that a file of that name is always whole. A second file, `NAME.part.json`, says how
/// much has arrived once ``save(_:)`` was called; with it a later run goes on where this one ended,
/// also if this one is killed.
///
/// No two partial files share a name: not in this process, nor in another, for each is locked while
/// it is open. All methods can be called from any thread.
public final class PartialFile: Sendable {
  /// Where the bytes are until they are committed.
  public var url: URL { URL(filePath: path, directoryHint: .notDirectory) }

  /// Where the file will be once it is committed.
  public var destination: URL { URL(filePath: finalPath, directoryHint: .notDirectory) }

  private let path: String
  private let finalPath: String

  /// What an earlier run has left; nil if it left nothing that can be used.
  public let leftover: ResumeState?

  /// Whether it has been neither committed, nor closed, nor discarded.
  public var isOpen: Bool { state.withLock { $0.descriptor >= 0 } }

  private struct State {
    var descriptor: Int32
    /// Open once there is a saved state.
    var record: Int32 = -1
    var recordLength = 0
    /// Whether this is the file of the user, and nothing has been written to it.
    var isUntouched = false
  }

  private let state: Mutex<State>

  /// Opens the partial file of `name`.
  ///
  /// - Parameters:
  ///   - name: The final name, a safe one as made by ``FileNames``.
  ///   - directory: The folder, which exists.
  ///   - continuing: Whether a file that has the final name is taken for the start of the download,
  ///     and gets the partial name.
  public convenience init(
    for name: String, in directory: URL, continuing: Bool = false
  ) throws(FileFailure) {
    try self.init(
      for: name, inFolder: directory.path(percentEncoded: false), continuing: continuing)
  }

  init(for name: String, inFolder folder: String, continuing: Bool) throws(FileFailure) {
    let prefix = folder.hasSuffix("/") ? folder : folder + "/"
    finalPath = prefix + name
    path = Self.partialName(for: finalPath)
    let isAdopted = continuing && access(path, F_OK) != 0 && rename(finalPath, path) == 0
    let (descriptor, length) = try Self.openLocked(path)
    let hasRecord = access(Self.recordPath(path), F_OK) == 0
    if isAdopted {
      var state = ResumeState()
      state.segments[0].position = length
      leftover = state
    } else {
      leftover = hasRecord ? Self.readRecord(Self.recordPath(path), length) : nil
    }
    state = Mutex(State(descriptor: descriptor, isUntouched: isAdopted))
    guard let leftover else {
      if hasRecord || length > 0 { try restart() }
      return
    }
    // From now on there is a state that `close()` keeps, whatever happens.
    do throws(FileFailure) {
      try save(leftover)
    } catch {
      close()
      throw error
    }
  }

  deinit {
    close()
  }

  /// Writes `bytes` at `position`.
  ///
  /// After ``commit(syncing:)``, ``close()`` or ``discard()`` this throws a failure with `EBADF`.
  public func write(_ bytes: UnsafeRawBufferPointer, at position: Int) throws(FileFailure) {
    let failure = state.withLock { state in
      state.isUntouched = false
      return Self.write(bytes, to: state.descriptor, at: position)
    }
    if let failure { throw FileFailure(.write, path, failure) }
  }

  /// Notes how much has arrived, for a later run.
  ///
  /// It is written in one system call, so that a process that is killed leaves the old state or the
  /// new one. A power failure can leave a state that is ahead of the bytes; a checksum tells.
  public func save(_ resume: ResumeState) throws(FileFailure) {
    let path = Self.recordPath(path)
    var text: Data
    do {
      text = try JSONEncoder().encode(resume)
    } catch {
      throw FileFailure(.save, path, EINVAL)
    }
    let failure = state.withLock { state -> FileFailure? in
      guard state.descriptor >= 0 else { return FileFailure(.save, path, EBADF) }
      if state.record < 0 {
        // Not emptied: the state of an earlier run is valid until it has been overwritten.
        state.record = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)
        guard state.record >= 0 else { return FileFailure(.open, path, errno) }
        var old = stat()
        if fstat(state.record, &old) == 0 { state.recordLength = Int(old.st_size) }
      }
      // Spaces after it cover what is left of a longer one.
      let padding = max(0, state.recordLength - text.count)
      text.append(contentsOf: repeatElement(UInt8(ascii: " "), count: padding))
      state.recordLength = text.count
      let code = text.withUnsafeBytes { Self.write($0, to: state.record, at: 0) }
      return code.map { FileFailure(.save, path, $0) }
    }
    if let failure { throw failure }
  }

  /// Empties the file and forgets its state.
  public func restart() throws(FileFailure) {
    let code = state.withLock { state -> Int32? in
      state.isUntouched = false
      unlink(Self.recordPath(path))
      Self.removeRecord(&state, path)
      return ftruncate(state.descriptor, 0) == 0 ? nil : errno
    }
    if let code { throw FileFailure(.write, path, code) }
  }

  /// Returns the checksum of what was written.
  public func checksum(_ algorithm: ChecksumAlgorithm) throws(FileFailure) -> Checksum {
    try Checksum(ofFileAt: path, algorithm)
  }

  /// Gives the file its final name.
  ///
  /// A file that has the final name already is replaced; its permissions are kept. If this fails,
  /// the partial file is still there, to be committed again, closed or discarded.
  ///
  /// - Parameter syncing: Whether the disk has to have the bytes before the file gets its name, so
  ///   that not even a power failure leaves a file that is not whole.
  public func commit(syncing: Bool = false) throws(FileFailure) {
    let failure = state.withLock { state -> FileFailure? in
      guard state.descriptor >= 0 else { return FileFailure(.rename, path, EBADF) }
      var old = stat()
      if lstat(finalPath, &old) == 0, old.st_mode & S_IFMT == S_IFREG {
        _ = fchmod(state.descriptor, old.st_mode & 0o7777)
      }
      guard !syncing || fsync(state.descriptor) == 0 else { return FileFailure(.save, path, errno) }
      guard rename(path, finalPath) == 0 else { return FileFailure(.rename, path, errno) }
      Self.removeRecord(&state, path)
      Self.close(&state.descriptor)
      return nil
    }
    if let failure { throw failure }
    if syncing {
      let folder = destination.deletingLastPathComponent()
      try Self.saveDirectory(folder.path(percentEncoded: false))
    }
  }

  /// Keeps the partial file if its state was saved, for a later run, and removes it otherwise.
  ///
  /// A file that was taken for the start of the download gets its name back if nothing was added.
  ///
  /// After ``commit(syncing:)`` or ``discard()``, or a second time, this does nothing.
  ///
  /// - Returns: Whether it was kept.
  @discardableResult
  public func close() -> Bool {
    state.withLock { state in
      guard state.descriptor >= 0 else { return false }
      if state.isUntouched, rename(path, finalPath) == 0 {
        Self.removeRecord(&state, path)
        Self.close(&state.descriptor)
        return false
      }
      let isKept = state.record >= 0
      if isKept {
        _ = fsync(state.descriptor)
        Self.close(&state.record)
      } else {
        unlink(path)
      }
      Self.close(&state.descriptor)
      return isKept
    }
  }

  /// Removes the partial file.
  public func discard() {
    state.withLock { state in
      guard state.descriptor >= 0 else { return }
      Self.removeRecord(&state, path)
      unlink(path)
      Self.close(&state.descriptor)
    }
  }

  // MARK: - Names

  /// Returns the name of a partial file, `NAME.part`.
  public static func partialName(for name: String) -> String { name + ".part" }

  /// Returns whether a partial file, or the record of its state, could have this name.
  public static func isPartialName(_ name: String) -> Bool {
    let name = name.lowercased()
    return name.hasSuffix(".part") || name.hasSuffix(".part.json")
  }

  private static func recordPath(_ path: String) -> String { path + ".json" }

  // MARK: - System calls

  private static func readRecord(_ path: String, _ length: Int) -> ResumeState? {
    guard let text = FileManager.default.contents(atPath: path),
      let state = try? JSONDecoder().decode(ResumeState.self, from: text)
    else { return nil }
    // What it tells must be there.
    let isPresent = state.segments.allSatisfy { segment in
      segment.position == segment.start || segment.position <= length
    }
    return isPresent && state.isContiguous ? state : nil
  }

  private static func removeRecord(_ state: inout State, _ path: String) {
    guard state.record >= 0 else { return }
    unlink(recordPath(path))
    close(&state.record)
    state.recordLength = 0
  }

  private static func close(_ descriptor: inout Int32) {
    guard descriptor >= 0 else { return }
    #if canImport(Darwin)
      _ = Darwin.close(descriptor)
    #else
      _ = Glibc.close(descriptor)
    #endif
    descriptor = -1
  }

  /// Opens and locks a file, and returns its length, too.
  private static func openLocked(
    _ path: String
  ) throws(FileFailure) -> (descriptor: Int32, length: Int) {
    while true {
      var file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)
      guard file >= 0 else { throw FileFailure(.open, path, errno) }
      guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
        let code = errno
        close(&file)
        throw FileFailure(.lock, path, code)
      }
      // Between opening and locking, the file may have been given its final
      // name by the process that had it: then it must not be written.
      var opened = stat()
      var named = stat()
      guard fstat(file, &opened) == 0, lstat(path, &named) == 0,
        opened.st_ino == named.st_ino, opened.st_dev == named.st_dev
      else {
        close(&file)
        continue
      }
      return (file, Int(opened.st_size))
    }
  }

  private static func write(
    _ bytes: UnsafeRawBufferPointer, to file: Int32, at position: Int
  ) -> Int32? {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest)
      let count = pwrite(
        file, piece.baseAddress, piece.count, off_t(position + bytes.count - rest.count))
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }

  private static func saveDirectory(_ path: String) throws(FileFailure) {
    var directory = open(path, O_RDONLY | O_CLOEXEC)
    guard directory >= 0 else { throw FileFailure(.save, path, errno) }
    defer { close(&directory) }
    // Some file systems cannot save a folder by itself and say EINVAL.
    guard fsync(directory) == 0 || errno == EINVAL else {
      throw FileFailure(.save, path, errno)
    }
  }
}
