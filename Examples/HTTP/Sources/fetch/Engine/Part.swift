/// The storage of a file's bytes until the file is complete: a ``PartialFile``, standard output, or a
/// simulation.
protocol Part: Sendable {
  /// The state that an earlier run saved; nil if there is none.
  var leftover: ResumeState? { get }
  /// Prepares for writing, and removes all bytes that the state doesn't describe.
  ///
  /// Nothing is changed before the first call, which follows the first byte of a good response.
  func begin(_ resume: ResumeState) throws
  /// Writes bytes at a position, in bytes from the start of the file.
  func write(_ bytes: UnsafeRawBufferPointer, at position: Int) throws
  /// Saves how much has arrived, for a later run.
  func save(_ resume: ResumeState) throws
  /// Sets the state that is saved when the file is closed before it is complete.
  func keep(_ resume: ResumeState)
  /// Removes all bytes and the saved state, if ``begin(_:)`` was called.
  func restart() throws
  /// Returns the checksum of the bytes that are present.
  func checksum() throws -> Checksum
}

/// The storage for downloaded files.
protocol Storage: Sendable {
  /// Returns the size of an existing file that doesn't need to be downloaded; nil if it must be
  /// downloaded.
  func present(_ file: Download) throws -> Int?
  /// Returns the partial file for a name.
  func open(_ name: String) throws -> any Part
  /// Renames a complete file to its final name.
  func commit(_ part: any Part) throws
  /// Closes a partial file whose download has ended.
  func close(_ part: any Part)
}
