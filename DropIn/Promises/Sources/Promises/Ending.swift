@_spi(DropIns) import Pledge

/// The resolver of a promise.
@usableFromInline
enum Ending<Value>: Sendable {
  /// A resolver that settles the promise itself.
  case direct(UnmanagedResolver<UncheckedBox<Value>>)

  /// A resolver that resolves the promise with another promise.
  ///
  /// The engine links the two if the other one has no other observer, so a recursive chain uses
  /// constant memory.
  case adopting(UnmanagedResolver<Pledge.Promise<UncheckedBox<Value>>>)

  @inlinable
  func fulfill(_ box: UncheckedBox<Value>) -> Bool {
    switch self {
    case .direct(let resolver): resolver.fulfill(box)
    case .adopting(let resolver): resolver.fulfill(.value(box))
    }
  }

  /// Rejects the promise; the rejection isn't reported if it has no handler.
  @inlinable
  func reject(_ error: any Error) -> Bool {
    switch self {
    case .direct(let resolver): resolver.reject(UnreportedError(error))
    case .adopting(let resolver): resolver.reject(UnreportedError(error))
    }
  }

  /// Always inlined, because `deinit` isn't specialized and a call would look up the type of the
  /// box.
  @inlinable @inline(__always)
  var isPending: Bool {
    switch self {
    case .direct(let resolver): resolver.isPending
    case .adopting(let resolver): resolver.isPending
    }
  }

  /// Leaves the promise unresolved forever.
  func abandon() {
    switch self {
    case .direct(let resolver): resolver.abandon()
    case .adopting(let resolver): resolver.abandon()
    }
  }
}
