@_spi(DropIns) import Pledge

/// The argument that distinguishes the internal initializers `Promise<T>(.pending)` and
/// `Guarantee<T>(.pending)` from the public ones.
@usableFromInline
enum PMKUnambiguousInitializer {
  case pending
}

/// The write side of a promise that isn't created by an operator.
///
/// The promise and its resolver retain it. When both are deallocated, the handlers that still wait
/// for the promise are released without being called.
@_fixed_layout @usableFromInline
final class Box<T>: Sendable {
  @usableFromInline let core: Core<T>
  @usableFromInline let resolver: UnmanagedResolver<Boxed<T>>?

  /// Creates the box of a pending promise.
  @inlinable
  init() { (core, resolver) = Core<T>.withUnmanagedResolver() }

  /// Creates the box of a promise that only Pledge settles.
  @usableFromInline
  init(sealedBy core: Core<T>) {
    self.core = core
    resolver = nil
  }

  @inlinable
  deinit { resolver?.abandon() }

  /// Settles the promise, unless it is already settled.
  @inlinable
  func seal(_ result: Result<T>) {
    switch result {
    case .fulfilled(let value): resolver?.fulfill(Boxed(value))
    case .rejected(let error): resolver?.reject(unreported(error))
    }
  }
}
