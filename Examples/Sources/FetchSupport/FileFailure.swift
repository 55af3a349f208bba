import Foundation

/// A file operation that the system refused.
public struct FileFailure: Error, Equatable, CustomStringConvertible {
  /// What was tried.
  public enum Operation: String, Sendable {
    /// Opening or creating the file.
    case open
    /// Taking the file for this process alone.
    case lock
    /// Reading from the file.
    case read
    /// Writing to the file.
    case write
    /// Making the file's bytes durable.
    case save
    /// Giving the file its final name.
    case rename
    /// Making the folder.
    case make
  }

  /// What was tried.
  public var operation: Operation

  /// The file.
  public var path: String

  /// The system's error number.
  public var code: Int32

  /// Creates the failure of an operation.
  public init(_ operation: Operation, _ path: String, _ code: Int32) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  /// What happened, in words.
  public var description: String {
    if operation == .lock && code == EWOULDBLOCK {
      return "cannot use \(path): another download is writing to it"
    }
    return "cannot \(operation.rawValue) \(path): \(String(cString: strerror(code)))"
  }
}
