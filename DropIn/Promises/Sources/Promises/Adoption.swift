import Dispatch
import Pledge

// A handler returned a promise, and the handler's own promise takes on its fate.

extension Promise {
  /// Creates a pending promise that can ``adopt(_:on:)`` another one.
  @inlinable
  static func adopter() -> Promise<Value> {
    let (source, resolver) = Pledge.Promise<
      Pledge.Promise<UncheckedBox<Value>>
    >.withUnmanagedResolver()
    return Promise(storage: source.then(on: .immediate) { $0 }, ending: .adopting(resolver))
  }

  /// Resolves this promise as `inner` is resolved, one hop on `queue` later.
  ///
  /// Where `inner` is an adopter too, and waits for a third promise or is about to, the two are
  /// linked and there is no hop: each round of a recursive chain would otherwise leave a promise
  /// behind that waits for the next one.
  @inlinable
  func adopt(_ inner: Promise<Value>, on queue: DispatchQueue) {
    if case .adopting(let resolver) = ending, case .adopting = inner.ending, inner.isPending,
      inner !== self
    {
      if resolver.fulfill(inner.storage) { DispatchGroup.promises.leave() }
      return
    }
    inner.observe(on: queue) { self.resolve($0) }
  }
}
