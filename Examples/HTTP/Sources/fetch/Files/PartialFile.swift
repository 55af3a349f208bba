import Foundation
import Synchronization

/// A file that is being downloaded, under a temporary name.
///
/// The bytes are written to `NAME.fetch-part`. ``commit(replacing:)`` renames the file to its final name
/// in one step, so a file with that name is always complete. ``save(_:)`` records how much has arrived
/// in a second file, `NAME.fetch-part.json`. With it, a later run continues where this one ended, even
/// if this one is killed. Without it, a later run overwrites the partial file.
///
/// Nothing is created or changed before ``begin(_:)``, which locks the partial file, so two processes
/// don't write to the same one. All methods can be called from any thread.
final class PartialFile: Sendable {
  /// The state that an earlier run saved; nil if there is none that can be used.
  let leftover: ResumeState?

  private struct State {
    /// The descriptor of the partial file; -1 before ``begin(_:)`` and after the end.
    var descriptor: Int32 = -1
    /// Whether the file was committed or closed.
    var isOver = false
    /// Whether it was closed, and kept for a later run.
    var isKept = false
    /// The state that is saved when the file is closed.
    var latest: ResumeState?
    /// Whether there is a record that describes the partial file.
    var hasRecord: Bool
  }

  private static let suffix = ".fetch-part"
  private let finalPath: String
  private var path: String { finalPath + Self.suffix }
  private var recordPath: String { path + ".json" }
  /// The name of a record until it is complete.
  private var newRecordPath: String { recordPath + ".new" }
  /// Whether there was a file with the final name at first.
  private let isReplacing: Bool
  private let state: Mutex<State>

  /// Looks for what an earlier run left; only reads.
  ///
  /// `folder` is the path of a folder that exists, with a slash at the end.
  init(for name: String, in folder: String) throws(FileFailure) {
    finalPath = folder + name
    var existing = stat()
    isReplacing = lstat(finalPath, &existing) == 0
    guard !isReplacing || existing.st_mode & S_IFMT != S_IFDIR else {
      throw FileFailure(.open, finalPath, EISDIR)
    }
    leftover = try Self.leftover(finalPath + Self.suffix)
    state = Mutex(State(hasRecord: leftover != nil))
  }

  deinit { close() }

  /// Opens the file for writing, if it isn't open, and removes all bytes that `resume`, a part of
  /// ``leftover`` or an empty state, doesn't describe.
  func begin(_ resume: ResumeState) throws(FileFailure) {
    try state.withLock { (state) throws(FileFailure) in
      guard !state.isOver else { throw FileFailure(.open, path, EBADF) }
      if state.descriptor < 0 { state.descriptor = try openAndLock() }
      // A killed run may have written more than it recorded.
      try truncate(state, to: resume.end)
      if resume.end == 0 { removeRecord(&state) }
    }
  }

  /// Writes `bytes` at `position`, in bytes from the start of the file.
  ///
  /// Before ``begin(_:)`` and after the end, this throws a failure with `EBADF`.
  func write(_ bytes: UnsafeRawBufferPointer, at position: Int) throws(FileFailure) {
    try state.withLock { (state) throws(FileFailure) in
      if let code = StandardStreams.write(bytes, to: state.descriptor, at: position) {
        throw FileFailure(.write, path, code)
      }
    }
  }

  /// Sets the state that ``close()`` saves.
  func keep(_ resume: ResumeState) { state.withLock { $0.latest = resume } }

  /// Saves how much has arrived, for a later run.
  ///
  /// The record gets its name when it is complete, so a process that is killed leaves either the old
  /// one or the new one. After a power failure, the record can be ahead of the bytes; only a checksum
  /// detects this.
  func save(_ resume: ResumeState) throws(FileFailure) {
    try state.withLock { (state) throws(FileFailure) in try save(resume, &state) }
  }

  private func save(_ resume: ResumeState, _ state: inout State) throws(FileFailure) {
    guard state.descriptor >= 0, let text = try? JSONEncoder().encode(resume) else {
      throw FileFailure(.save, recordPath, EBADF)
    }
    state.latest = nil
    // Only for this user: the record contains a URL, which can contain a secret.
    var file = open(newRecordPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw FileFailure(.save, recordPath, errno) }
    var code = text.withUnsafeBytes { StandardStreams.write($0, to: file) }
    closeDescriptor(&file)
    if code == nil, rename(newRecordPath, recordPath) != 0 { code = errno }
    if let code {
      unlink(newRecordPath)
      throw FileFailure(.save, recordPath, code)
    }
    state.hasRecord = true
  }

  /// Removes all bytes and their state, if ``begin(_:)`` was called.
  func restart() throws(FileFailure) {
    try state.withLock { (state) throws(FileFailure) in
      guard state.descriptor >= 0 else { return }
      state.latest = nil
      removeRecord(&state)
      try truncate(state, to: 0)
    }
  }

  /// Returns the checksum of the bytes that are present.
  func checksum() throws(FileFailure) -> Checksum { try Checksum(ofFileAt: path) }

  /// Renames the file to its final name.
  ///
  /// A file with the final name is an error unless it may be replaced; its permissions are kept if it
  /// already existed when this object was created. If this method fails, the partial file still
  /// exists and can be committed again or closed.
  func commit(replacing: Bool = true) throws(FileFailure) {
    try state.withLock { (state) throws(FileFailure) in
      guard state.descriptor >= 0 else { throw FileFailure(.rename, path, EBADF) }
      var existing = stat()
      // Neither matters for a new file that may be replaced.
      if isReplacing || !replacing, lstat(finalPath, &existing) == 0 {
        guard replacing else { throw FileFailure(.rename, path, EEXIST) }
        if existing.st_mode & S_IFMT == S_IFREG {
          _ = fchmod(state.descriptor, existing.st_mode & 0o7777)
        }
      }
      guard rename(path, finalPath) == 0 else { throw FileFailure(.rename, path, errno) }
      if state.hasRecord { removeRecord(&state) }
      closeDescriptor(&state.descriptor)
      state.isOver = true
    }
  }

  /// Saves the latest state and closes the partial file; keeps it for a later run if it has a
  /// state, and otherwise removes it.
  ///
  /// What an earlier run left is kept unless ``begin(_:)`` was called. Returns whether there is a
  /// partial file for a later run; after ``commit(replacing:)`` or ``close()``, does only that.
  @discardableResult
  func close() -> Bool {
    state.withLock { state in
      guard !state.isOver else { return state.isKept }
      state.isOver = true
      if state.descriptor >= 0 {
        if let latest = state.latest, latest.received > 0 { try? save(latest, &state) }
        if state.hasRecord { _ = fsync(state.descriptor) } else { unlink(path) }
        closeDescriptor(&state.descriptor)
      }
      state.isKept = state.hasRecord
      return state.isKept
    }
  }

  /// Returns the state that an earlier run saved for the partial file at `path`, if it describes it.
  private static func leftover(_ path: String) throws(FileFailure) -> ResumeState? {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let recordPath = path + ".json"
    // Opening a FIFO would wait for its writer.
    var file = open(recordPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      let failure = FileFailure(.open, recordPath, errno)
      if failure.isTooManyFiles { throw failure }
      return nil
    }
    defer { closeDescriptor(&file) }
    var text = Data()
    try? StandardStreams.forEachPiece(of: file, path) { text.append(contentsOf: $0) }
    guard let state = try? JSONDecoder().decode(ResumeState.self, from: text),
      state.isContained(in: Int(status.st_size))
    else { return nil }
    return state
  }

  /// Opens the partial file, and creates it if there is none.
  private func openAndLock() throws(FileFailure) -> Int32 {
    var file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o666)
    guard file >= 0 else { throw FileFailure(.open, path, errno) }
    var (opened, named) = (stat(), stat())
    guard fstat(file, &opened) == 0, opened.st_mode & S_IFMT == S_IFREG else {
      closeDescriptor(&file)
      throw FileFailure(.open, path, EEXIST)
    }
    // Another process may write to the file, or have continued or renamed it since this one has found
    // it.
    guard flock(file, LOCK_EX | LOCK_NB) == 0, lstat(path, &named) == 0,
      opened.st_ino == named.st_ino, opened.st_dev == named.st_dev,
      leftover == nil || (try? Self.leftover(path)) == leftover
    else {
      closeDescriptor(&file)
      throw FileFailure(.lock, path, EWOULDBLOCK)
    }
    return file
  }

  private func removeRecord(_ state: inout State) {
    unlink(recordPath)
    if state.hasRecord { unlink(newRecordPath) }
    state.hasRecord = false
  }

  private func truncate(_ state: State, to length: Int) throws(FileFailure) {
    guard ftruncate(state.descriptor, off_t(length)) == 0 else {
      throw FileFailure(.write, path, errno)
    }
  }

  /// Returns whether a partial file, or the record of its state, could have this name; ignores
  /// case.
  static func isPartialName(_ name: String) -> Bool {
    let name = name.lowercased()
    return name.hasSuffix(suffix) || name.hasSuffix(suffix + ".json")
  }
}

private func closeDescriptor(_ descriptor: inout Int32) {
  guard descriptor >= 0 else { return }
  // Otherwise, a process that another thread is starting keeps the lock until it runs its program.
  _ = flock(descriptor, LOCK_UN)
  _ = close(descriptor)
  descriptor = -1
}
