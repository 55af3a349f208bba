import Crypto
import Synchronization

/// A storage that writes a single file to standard output.
///
/// Bytes that were written can't be taken back: if the download has to start over, it fails.
final class StandardOutput: Storage, Part {
  struct AlreadyWritten: Error, CustomStringConvertible {
    let description =
      "the file can't be downloaded again, because a part of it was written to standard output"
  }

  private let state = Mutex((count: 0, hash: SHA256()))

  func present(_ file: Download) -> Int? { nil }
  func open(_ name: String) -> any Part { self }
  func commit(_ part: any Part) {}
  func close(_ part: any Part) {}

  // There is neither an earlier nor a later run.
  var leftover: ResumeState? { nil }
  func save(_ resume: ResumeState) {}
  func keep(_ resume: ResumeState) {}

  /// Throws an error if bytes that were written aren't in `resume`.
  func begin(_ resume: ResumeState) throws {
    guard resume.received == state.withLock({ $0.count }) else { throw AlreadyWritten() }
  }

  /// Writes bytes; waits for the reader of a pipe.
  func write(_ bytes: UnsafeRawBufferPointer, at position: Int) throws {
    try state.withLock { state in
      guard position == state.count else { throw AlreadyWritten() }
      try StandardStreams.writeOutput(bytes)
      state.count += bytes.count
      state.hash.update(bufferPointer: bytes)
    }
  }

  func restart() throws { try begin(ResumeState()) }
  func checksum() -> Checksum { state.withLock { Checksum($0.hash.finalize()) } }
}
