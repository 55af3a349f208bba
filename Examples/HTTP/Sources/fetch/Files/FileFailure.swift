import Foundation

/// The error of a file operation that failed.
struct FileFailure: Error, Equatable, CustomStringConvertible {
  /// The operation that failed, as a word of a message.
  enum Operation: String, Sendable {
    case open, lock, read, write, save, rename, create
  }

  var operation: Operation
  var path: String
  /// The error number of the system (`errno`).
  var code: Int32

  init(_ operation: Operation, _ path: String, _ code: Int32) {
    (self.operation, self.path, self.code) = (operation, path, code)
  }

  /// Whether the process or the system has too many open files.
  var isTooManyFiles: Bool { code == EMFILE || code == ENFILE }

  var description: String {
    if operation == .lock && code == EWOULDBLOCK {
      return "cannot use \(path): another download is writing to it"
    }
    return "cannot \(operation.rawValue) \(path): \(String(cString: strerror(code)))"
  }
}
