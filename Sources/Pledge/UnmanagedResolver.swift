/// The write side of a ``Promise``, which doesn't reject the promise when it's dropped.
///
/// Unlike a ``Resolver``, it's a structure and needs no allocation of its own. Use it in types that
/// manage their own lifetime: code that creates one must eventually settle or abandon the promise.
@frozen public struct UnmanagedResolver<Value: Sendable>: Sendable {
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

  /// Abandons the promise, which then stays pending permanently.
  ///
  /// Closures that wait for the promise are released without being called, and promises made from
  /// it are abandoned in turn. `timeout` still rejects when the time limit is exceeded, and `await`
  /// and `wait()` throw ``BrokenPromiseError``.
  @inlinable
  public func abandon() { cell.abandon() }

  /// Whether the promise is pending.
  @inlinable @inline(__always)
  public var isPending: Bool { cell.looksPending }
}

extension Promise {
  /// Creates a pending promise and a resolver that doesn't reject the promise when it's dropped.
  @inlinable
  public static func withUnmanagedResolver() -> (
    promise: Promise, resolver: UnmanagedResolver<Value>
  ) {
    let cell = Root<Value>()
    return (Promise(cell: cell), UnmanagedResolver(cell: cell))
  }
}
