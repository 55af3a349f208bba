import Pledge

/// What resolves a promise.
@usableFromInline
enum Ending<Value>: Sendable {
  /// Settles the promise itself.
  case direct(UnmanagedResolver<UncheckedBox<Value>>)

  /// Settles it with another promise, whose fate it then shares.
  ///
  /// The engine links the two if the other one has no other observer. That is what keeps the memory
  /// of a recursive chain constant.
  case adopting(UnmanagedResolver<Pledge.Promise<UncheckedBox<Value>>>)

  @inlinable
  func fulfill(_ box: UncheckedBox<Value>) -> Bool {
    switch self {
    case .direct(let resolver): resolver.fulfill(box)
    case .adopting(let resolver): resolver.fulfill(.value(box))
    }
  }

  /// Nothing reports rejections without a handler.
  @inlinable
  func reject(_ error: any Error) -> Bool {
    switch self {
    case .direct(let resolver): resolver.reject(UnreportedError(error))
    case .adopting(let resolver): resolver.reject(UnreportedError(error))
    }
  }

  /// Inlined, as `deinit` is not specialized: a call would look the type of the box up.
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
