/// The write side of a ``Promise`` that does not notice that it was dropped.
///
/// For types with their own lifetime: code that creates one must eventually settle or abandon the
/// promise. It saves the object that a ``Resolver`` is.
public struct UnmanagedResolver<Value: Sendable>: Sendable {
  @usableFromInline let cell: Cell

  @inlinable
  init(cell: Cell) { self.cell = cell }

  /// Fulfills the promise with `value`, unless it is already settled.
  ///
  /// - Returns: Whether this call settled the promise.
  @inlinable @discardableResult
  public func fulfill(_ value: Value) -> Bool { cell.fulfill(value) }

  /// Rejects the promise with `error`, unless it is already settled.
  ///
  /// - Returns: Whether this call settled the promise.
  @inlinable @discardableResult
  public func reject(_ error: any Error) -> Bool { cell.reject(Rejection(error, origin: nil)) }

  /// Abandons the promise: see ``Resolver/abandon()``.
  @inlinable
  public func abandon() { cell.abandon() }

  /// Whether the promise has not settled yet.
  @inlinable @inline(__always)
  public var isPending: Bool { cell.looksPending }
}

extension Promise {
  /// Creates a pending promise and a resolver that does not notice that it was dropped.
  @inlinable
  public static func withUnmanagedResolver() -> (
    promise: Promise, resolver: UnmanagedResolver<Value>
  ) {
    let cell = Root<Value?>()
    return (Promise(cell: cell), UnmanagedResolver(cell: cell))
  }
}
