import Pledge

/// How the internal initializers `Promise<T>(.pending)` and `Guarantee<T>(.pending)` are told from
/// the public ones.
@usableFromInline
enum PMKUnambiguousInitializer {
  case pending
}

/// The write side of a promise that is not made by an operator.
///
/// Held by the promise and by its resolver. When the last of them is deallocated, the handlers that
/// still wait for the promise are released, uncalled.
@usableFromInline
final class Box<T>: Sendable {
  @usableFromInline let core: Core<T>
  @usableFromInline let resolver: UnmanagedResolver<Boxed<T>>?

  /// A box that is still open.
  @inlinable
  init() {
    (core, resolver) = Core<T>.withUnmanagedResolver()
  }

  /// The box of a promise that is settled by Pledge alone.
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
    case .fulfilled(let value):
      resolver?.fulfill(Boxed(value))
    case .rejected(let error):
      resolver?.reject(UnreportedError(error))
    }
  }

  /// The outcome as it stands now.
  func inspect() -> Result<T>? { core.currentResult.map { Result($0) } }
}
