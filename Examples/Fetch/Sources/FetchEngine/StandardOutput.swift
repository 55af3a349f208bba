import FetchSupport
import Foundation
import Synchronization

/// A storage that writes a single file to standard output.
///
/// Bytes that were written can't be taken back: if the download has to start over, it fails.
public final class StandardOutput: Storage, Part {
  /// The error of a download that can't start over.
  public struct AlreadyWritten: Error, CustomStringConvertible {
    /// A message for the user.
    public let description =
      "the file can't be downloaded again, because a part of it was written to standard output"
  }

  private struct State {
    var count = 0
    var builder = ChecksumBuilder()
  }

  private let state = Mutex(State())

  /// Creates a storage.
  public init() {}

  /// The file must always be downloaded.
  public func present(_ file: Download) -> Int? { nil }
  /// Returns this object.
  public func open(_ name: String) -> any Part { self }

  /// There is no earlier run.
  public var leftover: ResumeState? { nil }
  /// There is no later run.
  public func save(_ resume: ResumeState) {}
  /// There is no later run.
  public func keep(_ resume: ResumeState) {}
  /// Does nothing.
  public func commit(_ part: any Part) {}
  /// Does nothing.
  public func close(_ part: any Part) {}

  /// Throws an error if bytes that were written aren't in `resume`.
  public func begin(_ resume: ResumeState) throws {
    guard resume.received == state.withLock({ $0.count }) else { throw AlreadyWritten() }
  }

  /// Writes bytes; waits for the reader of a pipe.
  public func write(_ bytes: UnsafeRawBufferPointer, at position: Int) throws {
    try state.withLock { state in
      guard position == state.count else { throw AlreadyWritten() }
      try StandardStreams.writeOutput(bytes)
      state.count += bytes.count
      state.builder.update(bytes)
    }
  }

  /// Throws an error if bytes were written.
  public func restart() throws { try begin(ResumeState()) }

  /// Returns the checksum of the bytes that were written.
  public func checksum() -> Checksum { state.withLock { $0.builder.checksum } }
}
