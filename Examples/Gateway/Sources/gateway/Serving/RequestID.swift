import Logging

/// The identity of a request, in each line of log that is about it.
///
/// It is the metadata of the task-local logger: tasks inherit it, and Pledge's handlers find it after
/// `TaskLocals.propagateLogger()`.
enum RequestID {
  static let header = "x-request-id"
  static let key = "request"

  static func random() -> String { String(UInt64.random(in: 0...UInt64.max), radix: 16) }

  static var current: String? {
    Logger.current[metadataKey: key].map { "\($0)" }
  }
}
