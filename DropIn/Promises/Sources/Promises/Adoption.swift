import Dispatch
@_spi(DropIns) import Pledge

// A handler's promise is resolved like the promise that the handler returned.

extension Promise {
  /// Creates a pending promise that can ``adopt(_:on:)`` another one.
  @inlinable
  convenience init(adopter: Void) {
    let (source, resolver) = Pledge.Promise<
      Pledge.Promise<UncheckedBox<Value>>
    >.withUnmanagedResolver()
    self.init(storage: source.then(on: .immediate) { $0 }, ending: .adopting(resolver))
  }

  /// Resolves this promise like `inner`, one hop on `queue` later.
  ///
  /// If `inner` is a pending adopter, too, the two are linked without a hop. Otherwise, each round
  /// of a recursive chain would leave behind a promise that waits for the next one.
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
