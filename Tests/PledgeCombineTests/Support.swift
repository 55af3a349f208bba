import Foundation

/// A value that is guarded by a lock.
///
/// `@unchecked Sendable`: `lock` guards the content.
final class Box<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var content: Value

  init(_ value: Value) { content = value }

  var value: Value { lock.withLock { content } }

  @discardableResult func exchange(_ new: Value) -> Value {
    lock.withLock {
      defer { content = new }
      return content
    }
  }
}
