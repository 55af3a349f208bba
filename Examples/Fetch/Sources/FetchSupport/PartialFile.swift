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
  }

  private let state: Mutex<State>
  /// The permissions of the existing file with the final name.
  private let permissions: mode_t?

  /// Opens the partial file for a name.
  ///
  /// - Parameters:
  ///   - name: The final name, which must be safe according to ``FileNames``.
  ///   - directory: The folder, which must exist.
  ///   - continuing: Whether an existing file with the final name is the start of the download. It is
  ///     copied to the partial file, and not changed before the download is complete.
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
    var existing = stat()
    let exists = lstat(finalPath, &existing) == 0
    guard !exists || existing.st_mode & S_IFMT != S_IFDIR else {
      throw FileFailure(.open, finalPath, EISDIR)
    }
    let isFile = exists && existing.st_mode & S_IFMT == S_IFREG
    permissions = isFile ? existing.st_mode & 0o7777 : nil
    let source = continuing && isFile && existing.st_size > 0 ? finalPath : nil
    var (descriptor, length) = try Self.openLocked(path)
    do throws(FileFailure) {
      leftover = try Self.prepare(descriptor, length, path, source: source)
    } catch {
      // The file can contain the bytes of an earlier run, so it isn't removed.
      Self.close(&descriptor)
      throw error
    }
    state = Mutex(State(descriptor: descriptor))
    guard let leftover, leftover.received > leftover.provided else { return }
    let failure = state.withLock { state in
      let failure = Self.save(leftover, &state, Self.recordPath(path))
      // As above.
      if failure != nil { Self.close(&state.descriptor) }
      return failure
    }
    if let failure { throw failure }
  }

  /// Makes the partial file consist of the bytes that an earlier run left, if these start with the
  /// file at `source`, and otherwise of a copy of that file.
  ///
  /// - Parameter source: The user's own file; nil if there is none.
  /// - Returns: The state of the partial file; nil if it is empty.
  private static func prepare(
    _ descriptor: Int32, _ length: Int, _ path: String, source: String?
  ) throws(FileFailure) -> ResumeState? {
    let recordPath = recordPath(path)
    if let saved = try readRecord(recordPath, length),
      try isCopy(path, saved.provided, of: source)
    {
      // A killed run may have written more than it recorded.
      let end = saved.segments.filter { $0.position > $0.start }.map(\.position).max() ?? 0
      guard ftruncate(descriptor, off_t(end)) == 0 else { throw FileFailure(.write, path, errno) }
      return saved
    }
    guard unlink(recordPath) == 0 || errno == ENOENT else {
      throw FileFailure(.open, recordPath, errno)
    }
    guard ftruncate(descriptor, 0) == 0 else { throw FileFailure(.write, path, errno) }
    guard let source else { return nil }
    var copied = 0
    try forEachPiece(of: source) { (bytes) throws(FileFailure) in
      if let code = write(bytes, to: descriptor, at: copied) {
        ftruncate(descriptor, 0)
        throw FileFailure(.write, path, code)
      }
      copied += bytes.count
    }
    return ResumeState(provided: copied)
  }

  /// Whether the first `count` bytes of the partial file are a copy of the whole file at `source`.
  private static func isCopy(
    _ path: String, _ count: Int, of source: String?
  ) throws(FileFailure) -> Bool {
    guard let source else { return count == 0 }
    var partial = open(path, O_RDONLY | O_CLOEXEC)
    guard partial >= 0 else { throw FileFailure(.open, path, errno) }
    defer { close(&partial) }
    var compared = 0
    var isSame = true
    var buffer = [UInt8](repeating: 0, count: FileReading.pieceSize)
    try forEachPiece(of: source) { (bytes) throws(FileFailure) in
      guard isSame, compared < count else {
        isSame = false
        return
      }
      let read = buffer.withUnsafeMutableBytes {
        pread(partial, $0.baseAddress, bytes.count, off_t(compared))
      }
      isSame = read == bytes.count && bytes.elementsEqual(buffer[..<bytes.count])
      compared += bytes.count
    }
    return isSame && compared == count
  }

  deinit {
    close()
  }

  /// Writes `bytes` at `position`, in bytes from the start of the file.
  ///
  /// After ``commit(syncing:)``, ``close()``, or ``discard()``, this throws a failure with `EBADF`.
  public func write(_ bytes: UnsafeRawBufferPointer, at position: Int) throws(FileFailure) {
    let failure = state.withLock { Self.write(bytes, to: $0.descriptor, at: position) }
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
    let failure = state.withLock { state -> FileFailure? in
      state.latest = nil
      Self.removeRecord(&state, path)
      return ftruncate(state.descriptor, off_t(leftover?.provided ?? 0)) == 0
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
  /// After ``commit(syncing:)``, ``close()``, or ``discard()``, this does nothing.
  ///
  /// - Returns: Whether the partial file was kept.
  @discardableResult
  public func close() -> Bool {
    state.withLock { state in
      guard state.descriptor >= 0 else { return false }
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

  /// Returns the recorded state; nil if there is none that describes the partial file.
  ///
  /// A record that exists but can't be read is an error, because it could describe many bytes.
  private static func readRecord(
    _ path: String, _ length: Int
  ) throws(FileFailure) -> ResumeState? {
    var text = Data()
    do throws(FileFailure) {
      try forEachPiece(of: path) { text.append(contentsOf: $0) }
    } catch {
      if error.code == ENOENT { return nil }
      throw error
    }
    guard let state = try? JSONDecoder().decode(ResumeState.self, from: text) else { return nil }
    // The file must contain the bytes that the state describes.
    let isPresent = state.segments.allSatisfy { segment in
      segment.position == segment.start || segment.position <= length
    }
    return isPresent && state.isContiguous ? state : nil
  }

  /// Calls `body` with each piece of the file, in order.
  private static func forEachPiece(
    of path: String, _ body: (UnsafeRawBufferPointer) throws(FileFailure) -> Void
  ) throws(FileFailure) {
    var file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { throw FileFailure(.open, path, errno) }
    defer { close(&file) }
    try FileReading.forEachPiece(of: file, path, body)
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
    _ path: String
  ) throws(FileFailure) -> (descriptor: Int32, length: Int) {
    while true {
      // Opening a FIFO would wait for its reader.
      let options = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
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
