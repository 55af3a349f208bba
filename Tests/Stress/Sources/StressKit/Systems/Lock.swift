import Foundation

/// A value and the lock that guards it.
///
/// It uses Foundation's lock, which ThreadSanitizer understands on every platform.
///
/// `@unchecked Sendable`: `value` is guarded by `lock`.
package final class Lock<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  package init(_ value: Value) { self.value = value }

  package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try lock.withLock { try body(&value) }
  }
}
