import Foundation
import Synchronization

/// A file that is being downloaded, under a temporary name.
///
/// The bytes are written to `NAME.part`. ``commit(syncing:)`` renames the file to its final name in
/// one step, so a file with that name is always complete. ``save(_:)`` records how much has arrived
/// in a second file, `NAME.part.json`. With it, a later run continues where this one ended, even if
/// this one is killed.
///
/// A partial file is locked while it is open, so no two partial files share a name, even in
/// different processes. All methods can be called from any thread.
public final class PartialFile: Sendable {
  /// The location of the partial file.
  public var url: URL { URL(filePath: path, directoryHint: .notDirectory) }

  /// The location of the file after it is committed.
  public var destination: URL { URL(filePath: finalPath, directoryHint: .notDirectory) }

  private let path: String
  private let finalPath: String

  /// The state that an earlier run saved; nil if there is none that can be used.
  public let leftover: ResumeState?

  /// Whether the file has been neither committed, closed, nor discarded.
  public var isOpen: Bool { state.withLock { $0.descriptor >= 0 } }

  private struct State {
    var descriptor: Int32
    /// The state that is saved when the file is closed.
    var latest: ResumeState?
    /// The descriptor of the record; open after a state was saved.
    var record: Int32 = -1
    var recordLength = 0
    /// Whether this is the user's own file, and nothing has been added to it.
    var isUntouched = false
  }

  private let state: Mutex<State>
  /// The permissions of the existing file with the final name.
  private let permissions: mode_t?

  /// Opens the partial file for a name.
  ///
  /// - Parameters:
  ///   - name: The final name, which must be safe according to ``FileNames``.
  ///   - directory: The folder, which must exist.
  ///   - continuing: Whether an existing file with the final name is the start of the download, and
  ///     is renamed to the partial name. Otherwise, if an earlier run did so, the file gets its
  ///     name back.
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
    if !continuing, Self.exists(Self.recordPath(path)), !Self.exists(finalPath),
      let resume = Self.readRecord(Self.recordPath(path), .max), resume.provided > 0
    {
      // An earlier run has renamed the user's own file.
      let file = try PartialFile(for: name, inFolder: folder, continuing: true)
      try file.restart()
      file.close()
    }
    var existing = stat()
    let exists = lstat(finalPath, &existing) == 0
    guard !exists || existing.st_mode & S_IFMT != S_IFDIR else {
      throw FileFailure(.open, finalPath, EISDIR)
    }
    let isFile = exists && existing.st_mode & S_IFMT == S_IFREG
    permissions = isFile ? existing.st_mode & 0o7777 : nil
    if continuing, isFile, existing.st_size > 0, !Self.exists(path) {
      let (adopted, resume) = try Self.adopt(finalPath, as: path)
      leftover = resume
      state = Mutex(adopted)
      return
    }
    let (descriptor, length) = try Self.openLocked(path, O_CREAT)
    let hasRecord = Self.exists(Self.recordPath(path))
    let saved = hasRecord ? Self.readRecord(Self.recordPath(path), length) : nil
    leftover = saved.flatMap { $0.provided == 0 || continuing ? $0 : nil }
    let isUntouched = leftover.map { $0.provided > 0 && $0.provided == $0.received } ?? false
    state = Mutex(State(descriptor: descriptor, isUntouched: isUntouched))
    guard let leftover else {
      if hasRecord || length > 0 { try restart() }
      return
    }
    // From here on, there is a state that `close()` keeps, whatever happens.
    do throws(FileFailure) {
      try save(leftover)
    } catch {
      close()
      throw error
    }
  }

  /// Makes the user's own file the partial file.
  ///
  /// Everything that can fail happens before the file is renamed, so the file keeps its name then.
  /// A process that is killed leaves either a record without a file, which is ignored, or both.
  private static func adopt(
    _ finalPath: String, as path: String
  ) throws(FileFailure) -> (State, ResumeState) {
    let (descriptor, length) = try openLocked(finalPath)
    let resume = ResumeState(provided: length)
    var state = State(descriptor: descriptor, isUntouched: true)
    var failure = save(resume, &state, recordPath(path))
    if failure == nil, rename(finalPath, path) != 0 {
      failure = FileFailure(.rename, finalPath, errno)
    }
    if let failure {
      removeRecord(&state, path)
      close(&state.descriptor)
      throw failure
    }
    return (state, resume)
  }

  deinit {
    close()
  }

  /// Writes `bytes` at `position`, in bytes from the start of the file.
  ///
  /// After ``commit(syncing:)``, ``close()``, or ``discard()``, this throws a failure with `EBADF`.
  public func write(_ bytes: UnsafeRawBufferPointer, at position: Int) throws(FileFailure) {
    let failure = state.withLock { state in
      state.isUntouched = false
      return Self.write(bytes, to: state.descriptor, at: position)
    }
    if let failure { throw FileFailure(.write, path, failure) }
  }

  /// Sets the state that ``close()`` saves.
  public func keep(_ resume: ResumeState) { state.withLock { $0.latest = resume } }

  /// Saves how much has arrived, for a later run.
  ///
  /// The state is written in one system call, so a process that is killed leaves either the old
  /// state or the new one. After a power failure, the state can be ahead of the bytes; only a
  /// checksum detects this.
  public func save(_ resume: ResumeState) throws(FileFailure) {
    let failure = state.withLock { Self.save(resume, &$0, Self.recordPath(path)) }
    if let failure { throw failure }
  }

  private static func save(
    _ resume: ResumeState, _ state: inout State, _ path: String
  ) -> FileFailure? {
    guard state.descriptor >= 0 else { return FileFailure(.save, path, EBADF) }
    state.latest = nil
    guard var text = try? JSONEncoder().encode(resume) else {
      return FileFailure(.save, path, EINVAL)
    }
    if state.record < 0 {
      // The file isn't truncated: the state of an earlier run is valid until it has been
      // overwritten.
      // It contains a URL, which can contain a secret.
      state.record = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard state.record >= 0 else { return FileFailure(.open, path, errno) }
      var old = stat()
      if fstat(state.record, &old) == 0 { state.recordLength = Int(old.st_size) }
    }
    // Spaces overwrite the rest of a longer state.
    let padding = max(0, state.recordLength - text.count)
    text.append(contentsOf: repeatElement(UInt8(ascii: " "), count: padding))
    state.recordLength = text.count
    let code = text.withUnsafeBytes { write($0, to: state.record, at: 0) }
    return code.map { FileFailure(.save, path, $0) }
  }

  /// Removes all bytes, except those that the user provided, and their state.
  public func restart() throws(FileFailure) {
    let provided = leftover?.provided ?? 0
    let failure = state.withLock { state -> FileFailure? in
      state.isUntouched = provided > 0
      state.latest = nil
      if provided > 0 {
        // Before the file is truncated, so that the record describes no bytes that are missing.
        let failure = Self.save(ResumeState(provided: provided), &state, Self.recordPath(path))
        if let failure { return failure }
      } else {
        unlink(Self.recordPath(path))
        Self.removeRecord(&state, path)
      }
      return ftruncate(state.descriptor, off_t(provided)) == 0
        ? nil : FileFailure(.write, path, errno)
    }
    if let failure { throw failure }
  }

  /// Returns the checksum of the bytes that were written.
  public func checksum(_ algorithm: ChecksumAlgorithm) throws(FileFailure) -> Checksum {
    try Checksum(ofFileAt: path, algorithm)
  }

  /// Renames the file to its final name.
  ///
  /// An existing file with the final name is replaced; its permissions are kept. If this method
  /// fails before the file is renamed, the partial file still exists and can be committed again,
  /// closed, or discarded.
  ///
  /// - Parameter syncing: Whether the bytes are flushed to disk before the file is renamed, so that
  ///   not even a power failure leaves an incomplete file.
  public func commit(syncing: Bool = false) throws(FileFailure) {
    let failure = state.withLock { state -> FileFailure? in
      guard state.descriptor >= 0 else { return FileFailure(.rename, path, EBADF) }
      if let permissions { _ = fchmod(state.descriptor, permissions) }
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

  /// Saves the latest state and closes the partial file; keeps it for a later run if it has a
  /// state, and removes it otherwise.
  ///
  /// An existing file that is the start of the download gets its final name back if nothing was
  /// added to it.
  ///
  /// After ``commit(syncing:)``, ``close()``, or ``discard()``, this does nothing.
  ///
  /// - Returns: Whether the partial file was kept.
  @discardableResult
  public func close() -> Bool {
    state.withLock { state in
      guard state.descriptor >= 0 else { return false }
      if state.isUntouched, !Self.exists(finalPath), rename(path, finalPath) == 0 {
        Self.removeRecord(&state, path)
        Self.close(&state.descriptor)
        return false
      }
      if let latest = state.latest, latest.received > 0 {
        _ = Self.save(latest, &state, Self.recordPath(path))
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

  /// Returns whether a partial file, or the record of its state, could have this name; ignores
  /// case.
  public static func isPartialName(_ name: String) -> Bool {
    let name = name.lowercased()
    return name.hasSuffix(".part") || name.hasSuffix(".part.json")
  }

  private static func recordPath(_ path: String) -> String { path + ".json" }

  // MARK: - System calls

  private static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  private static func readRecord(_ path: String, _ length: Int) -> ResumeState? {
    guard let text = FileManager.default.contents(atPath: path),
      let state = try? JSONDecoder().decode(ResumeState.self, from: text)
    else { return nil }
    // The file must contain the bytes that the state describes.
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

  /// Opens and locks a file, and returns its descriptor and length.
  private static func openLocked(
    _ path: String, _ creation: Int32 = 0
  ) throws(FileFailure) -> (descriptor: Int32, length: Int) {
    while true {
      // Opening a FIFO would wait for its reader.
      let options = O_WRONLY | creation | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
      var file = open(path, options, 0o666)
      guard file >= 0 else { throw FileFailure(.open, path, errno) }
      guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
        let code = errno
        close(&file)
        throw FileFailure(.lock, path, code)
      }
      // The process that held the lock may have renamed the file to its final name after it was
      // opened here; then it must not be written.
      var opened = stat()
      var named = stat()
      guard fstat(file, &opened) == 0, lstat(path, &named) == 0,
        opened.st_ino == named.st_ino, opened.st_dev == named.st_dev
      else {
        close(&file)
        continue
      }
      guard opened.st_mode & S_IFMT == S_IFREG else {
        close(&file)
        throw FileFailure(.open, path, EINVAL)
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
    // Some file systems can't flush a folder and return EINVAL.
    guard fsync(directory) == 0 || errno == EINVAL else {
      throw FileFailure(.save, path, errno)
    }
  }
}
