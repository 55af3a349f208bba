/// A value that is moved from one task to another.
///
/// `@unchecked Sendable`: the task that sends it doesn't use it until the other one has ended, and
/// waits for that.
@frozen @usableFromInline
struct Moved<Value>: @unchecked Sendable {
  @usableFromInline var value: Value

  @inlinable
  init(_ value: Value) { self.value = value }
}
