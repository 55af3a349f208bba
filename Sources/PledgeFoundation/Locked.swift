import Foundation

/// A value that is only reached under its lock.
///
/// Not a `Mutex` of the standard library: ThreadSanitizer does not see that one order its owners on
/// Linux once they have to wait, and reports races that are none.
///
/// `@unchecked Sendable`: `value` is guarded by `lock`.
final class Locked<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func withLock<R>(_ body: (inout Value) throws -> R) rethrows -> R {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
