import Foundation
import Synchronization

/// A file that is being downloaded, under a temporary name.
///
/// The bytes are written to `NAME.part`. ``commit(replacing:)`` renames the file to its final name in
/// one step, so a file with that name is always complete. ``save(_:)`` records how much has arrived
/// in a second file, `NAME.part.json`. With it, a later run continues where this one ended, even if
/// this one is killed.
///
/// The record is also what shows that `NAME.part` belongs to this program. A file that has one of
/// these names and isn't a partial download is never opened for writing or removed: the bytes are
/// written to `NAME.1.part`, and so on. Nothing is created or changed before ``begin(_:)``.
///
/// A partial file with a record is locked while it is written, so two processes don't write to the
/// same one. All methods can be called from any thread.
final class PartialFile: Sendable {
  /// The state that an earlier run saved; nil if there is none that can be used.
  let leftover: ResumeState?

  private struct State {
    var path: String
    /// The descriptor of the partial file; -1 before ``begin(_:)`` and after the end.
    var descriptor: Int32 = -1
    /// Whether the file was committed or closed.
    var isOver = false
    /// Whether it was closed, and kept for a later run.
    var isKept = false
    /// The state that is saved when the file is closed.
    var latest: ResumeState?
    /// Whether there is a record of this program's.
    var hasRecord: Bool
    /// The descriptor of the record; -1 before it is written.
    var record: Int32 = -1
    var recordLength = 0
  }

  private let finalPath: String
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
    let (path, leftover, hasRecord) = try Self.find(finalPath)
    self.leftover = leftover
    state = Mutex(State(path: path, hasRecord: hasRecord))
  }

  deinit { close() }

  /// Opens the file for writing, if it isn't open, and removes all bytes that `resume`, a part of
  /// ``leftover`` or an empty state, doesn't describe.
  func begin(_ resume: ResumeState) throws(FileFailure) {
    try state.withLock { (state) throws(FileFailure) in
      guard !state.isOver else { throw FileFailure(.open, state.path, EBADF) }
      let isNew = state.descriptor < 0 && leftover == nil
      if isNew { try create(&state) } else if state.descriptor < 0 { try reopen(&state) }
      // A killed run may have written more than it recorded.
      if !isNew { try Self.truncate(state, to: resume.end) }
      if resume.end == 0 { Self.removeRecord(&state) }
    }
  }

  /// Writes `bytes` at `position`, in bytes from the start of the file.
  ///
  /// Before ``begin(_:)`` and after the end, this throws a failure with `EBADF`.
  func write(_ bytes: UnsafeRawBufferPointer, at position: Int) throws(FileFailure) {
    try state.withLock { (state) throws(FileFailure) in
      if let code = StandardStreams.write(bytes, to: state.descriptor, at: position) {
        throw FileFailure(.write, state.path, code)
      }
    }
  }

  /// Sets the state that ``close()`` saves.
  func keep(_ resume: ResumeState) { state.withLock { $0.latest = resume } }

  /// Saves how much has arrived, for a later run.
  ///
  /// The state is written in one system call, and gets its name when it is complete, so a process that
  /// is killed leaves either the old state or the new one. After a power failure, the state can be
  /// ahead of the bytes; only a checksum detects this.
  func save(_ resume: ResumeState) throws(FileFailure) {
    try state.withLock { (state) throws(FileFailure) in try Self.save(resume, &state) }
  }

  private static func save(_ resume: ResumeState, _ state: inout State) throws(FileFailure) {
    let path = recordPath(state.path)
    guard state.descriptor >= 0, var text = try? JSONEncoder().encode(resume) else {
      throw FileFailure(.save, path, EBADF)
    }
    state.latest = nil
    // The name under which the record is created: a process that is killed before it has written the
    // record must not leave an empty one, which nothing shows to be this program's.
    let newName = state.hasRecord ? nil : "\(path).\(getpid())"
    if state.record < 0 {
      // Another process waits until the record is complete, or fails.
      _ = flock(state.descriptor, LOCK_EX)
      // Without a record of its own, the partial file can't be resumed.
      if !state.hasRecord, case .foreign? = try? Record(of: state.path) { return }
      // The file isn't truncated: the state of an earlier run is valid until it has been
      // overwritten. It contains a URL, which can contain a secret.
      let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (newName == nil ? 0 : O_EXCL)
      state.record = open(newName ?? path, flags, 0o600)
      guard state.record >= 0 else { throw FileFailure(.open, path, errno) }
      var old = stat()
      if fstat(state.record, &old) == 0 { state.recordLength = Int(old.st_size) }
    }
    // Spaces overwrite the rest of a longer state.
    let padding = max(0, state.recordLength - text.count)
    text.append(contentsOf: repeatElement(UInt8(ascii: " "), count: padding))
    state.recordLength = text.count
    var code = text.withUnsafeBytes { StandardStreams.write($0, to: state.record, at: 0) }
    if let newName {
      if code == nil, rename(newName, path) != 0 { code = errno }
      if code == nil {
        state.hasRecord = true
      } else {
        unlink(newName)
        closeDescriptor(&state.record)
      }
    }
    if let code { throw FileFailure(.save, path, code) }
  }

  /// Removes all bytes and their state, if ``begin(_:)`` was called.
  func restart() throws(FileFailure) {
    try state.withLock { (state) throws(FileFailure) in
      guard state.descriptor >= 0 else { return }
      state.latest = nil
      Self.removeRecord(&state)
      try Self.truncate(state, to: 0)
    }
  }

  /// Returns the checksum of the bytes that are present.
  func checksum() throws(FileFailure) -> Checksum {
    try Checksum(ofFileAt: state.withLock { $0.path })
  }

  /// Renames the file to its final name.
  ///
  /// A file with the final name is an error unless it may be replaced; its permissions are kept if it
  /// already existed when this object was created. If this method fails, the partial file still
  /// exists and can be committed again or closed.
  func commit(replacing: Bool = true) throws(FileFailure) {
    try state.withLock { (state) throws(FileFailure) in
      guard state.descriptor >= 0 else { throw FileFailure(.rename, state.path, EBADF) }
      var existing = stat()
      // Neither matters for a new file that may be replaced.
      if isReplacing || !replacing, lstat(finalPath, &existing) == 0 {
        guard replacing else { throw FileFailure(.rename, state.path, EEXIST) }
        if existing.st_mode & S_IFMT == S_IFREG {
          _ = fchmod(state.descriptor, existing.st_mode & 0o7777)
        }
      }
      guard rename(state.path, finalPath) == 0 else {
        throw FileFailure(.rename, state.path, errno)
      }
      let isLocked = state.hasRecord
      Self.removeRecord(&state)
      closeDescriptor(&state.descriptor, isLocked: isLocked)
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
      guard state.descriptor >= 0 else {
        state.isKept = leftover != nil
        return state.isKept
      }
      if let latest = state.latest, latest.received > 0 { try? Self.save(latest, &state) }
      if state.hasRecord {
        _ = fsync(state.descriptor)
        closeDescriptor(&state.record)
      } else {
        unlink(state.path)
      }
      closeDescriptor(&state.descriptor, isLocked: state.hasRecord)
      state.isKept = state.hasRecord
      return state.isKept
    }
  }

  /// The record of a partial file.
  private enum Record {
    case missing
    case saved(ResumeState)
    /// A file of someone else's.
    case foreign

    /// Reads the record of the partial file at `path`.
    init(of path: String) throws(FileFailure) {
      let path = recordPath(path)
      var file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      guard file >= 0 else {
        if errno == EMFILE || errno == ENFILE { throw FileFailure(.open, path, errno) }
        self = errno == ENOENT ? .missing : .foreign
        return
      }
      defer { closeDescriptor(&file) }
      var status = stat()
      var text = Data()
      guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
        (try? StandardStreams.forEachPiece(of: file, path, { text.append(contentsOf: $0) })) != nil,
        let state = try? JSONDecoder().decode(ResumeState.self, from: text)
      else {
        self = .foreign
        return
      }
      self = .saved(state)
    }
  }

  /// Returns the path for the partial file, what an earlier run left, and whether there is a record.
  private static func find(
    _ finalPath: String
  ) throws(FileFailure) -> (path: String, leftover: ResumeState?, hasRecord: Bool) {
    // This applies to most files; the names are checked again when the files are created.
    var status = stat()
    let first = partialPath(finalPath, 0)
    if lstat(first, &status) != 0, errno == ENOENT { return (first, nil, false) }
    for number in 0..<maximumCount {
      let path = partialPath(finalPath, number)
      switch (try Record(of: path), length(path)) {
      case (.missing, nil): return (path, nil, false)
      // The file was renamed, and the process was killed before it could remove the record.
      case (.saved, nil): return (path, nil, true)
      case (.saved(let saved), let length?) where saved.isContained(in: length):
        return (path, saved, true)
      // The user's file, or what a killed run left of a file that is too small for a record.
      default: try requireUnlocked(path)
      }
    }
    throw FileFailure(.open, partialPath(finalPath, 0), EEXIST)
  }

  /// Creates the partial file under a name that no file has.
  private func create(_ state: inout State) throws(FileFailure) {
    for number in 0..<Self.maximumCount {
      let path = number == 0 ? state.path : Self.partialPath(finalPath, number)
      guard number == 0 || access(Self.recordPath(path), F_OK) != 0 else { continue }
      let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o666)
      if file >= 0 {
        (state.path, state.descriptor) = (path, file)
        if number > 0 { state.hasRecord = false }
        return
      }
      guard errno == EEXIST else { throw FileFailure(.open, path, errno) }
      try Self.requireUnlocked(path)
    }
    throw FileFailure(.open, state.path, EEXIST)
  }

  /// Opens the partial file that an earlier run left.
  private func reopen(_ state: inout State) throws(FileFailure) {
    var file = open(state.path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { throw FileFailure(.open, state.path, errno) }
    var (opened, named) = (stat(), stat())
    // Another process may have continued or renamed the file since its record was read.
    guard flock(file, LOCK_EX | LOCK_NB) == 0, fstat(file, &opened) == 0,
      lstat(state.path, &named) == 0, opened.st_ino == named.st_ino,
      opened.st_dev == named.st_dev,
      case .saved(let saved)? = try? Record(of: state.path), saved == leftover
    else {
      closeDescriptor(&file, isLocked: true)
      throw FileFailure(.lock, state.path, EWOULDBLOCK)
    }
    state.descriptor = file
  }

  /// Throws an error if another process writes to the partial file at `path`.
  private static func requireUnlocked(_ path: String) throws(FileFailure) {
    // Opening a FIFO could disturb its writer.
    guard length(path) != nil else { return }
    var file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else { return }
    defer { closeDescriptor(&file, isLocked: true) }
    guard flock(file, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
      throw FileFailure(.lock, path, EWOULDBLOCK)
    }
  }

  /// The length of a regular file; nil if there is none.
  private static func length(_ path: String) -> Int? {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(status.st_size)
  }

  /// The number of names that are tried.
  private static let maximumCount = 1000

  /// Returns whether a partial file, or the record of its state, could have this name; ignores
  /// case.
  static func isPartialName(_ name: String) -> Bool {
    let name = name.lowercased()
    return name.hasSuffix(".part") || name.hasSuffix(".part.json")
  }

  private static func partialPath(_ path: String, _ number: Int) -> String {
    number == 0 ? "\(path).part" : "\(path).\(number).part"
  }

  private static func recordPath(_ path: String) -> String { path + ".json" }

  private static func removeRecord(_ state: inout State) {
    guard state.hasRecord else { return }
    unlink(recordPath(state.path))
    closeDescriptor(&state.record)
    (state.hasRecord, state.recordLength) = (false, 0)
  }

  private static func truncate(_ state: State, to length: Int) throws(FileFailure) {
    guard ftruncate(state.descriptor, off_t(length)) == 0 else {
      throw FileFailure(.write, state.path, errno)
    }
  }
}

private func closeDescriptor(_ descriptor: inout Int32, isLocked: Bool = false) {
  guard descriptor >= 0 else { return }
  // Otherwise, a process that another thread is starting keeps the lock until it runs its program.
  if isLocked { _ = flock(descriptor, LOCK_UN) }
  #if canImport(Darwin)
    _ = Darwin.close(descriptor)
  #else
    _ = Glibc.close(descriptor)
  #endif
  descriptor = -1
}
