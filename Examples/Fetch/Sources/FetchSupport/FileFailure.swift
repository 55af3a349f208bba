import Foundation

/// The error of a file operation that failed.
public struct FileFailure: Error, Equatable, CustomStringConvertible {
  /// The operation that failed, as a word of a message.
  public enum Operation: String, Sendable {
    case open, lock, read, write, save, rename, create
  }

  /// The operation that failed.
  public var operation: Operation
  /// The path of the file.
  public var path: String
  /// The error number of the system (`errno`).
  public var code: Int32

  /// Creates the error.
  public init(_ operation: Operation, _ path: String, _ code: Int32) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  /// Whether the process or the system has too many open files.
  public var isTooManyFiles: Bool { code == EMFILE || code == ENFILE }

  /// A message that describes the failure.
  public var description: String {
    if operation == .lock && code == EWOULDBLOCK {
      return "cannot use \(path): another download is writing to it"
    }
    return "cannot \(operation.rawValue) \(path): \(String(cString: strerror(code)))"
  }
}
