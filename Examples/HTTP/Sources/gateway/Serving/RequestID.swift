import Logging

/// The ID of a request, which each log line about the request contains.
///
/// It is in the metadata of the task-local logger. Tasks inherit it, and so do Pledge's handlers
/// after `TaskLocals.propagateLogger()`.
enum RequestID {
  static let header = "x-request-id"
  static let key = "request"

  static func random() -> String { String(UInt64.random(in: 0...UInt64.max), radix: 16) }
  static var current: String? { Logger.current[metadataKey: key].map { "\($0)" } }
}
