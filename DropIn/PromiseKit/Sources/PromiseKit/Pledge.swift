import Pledge

// The way to Pledge and back. Cancelling the Pledge promise, if nobody else waits for this one,
// rejects this one with `CancellationError`, for which `isCancelled` is true.

extension Promise where T: Sendable {
  /// This promise as one of Pledge's.
  @inlinable
  public var pledge: Pledge.Promise<T> { attach().map(on: .immediate) { $0.value } }

  /// Makes a promise with the fate of one of Pledge's.
  @inlinable
  public convenience init(_ pledge: Pledge.Promise<T>) {
    self.init(core: pledge.map(on: .immediate) { Boxed($0) }.silenced)
  }
}

extension Guarantee where T: Sendable {
  /// This guarantee as one of Pledge's.
  @inlinable
  public var pledge: Pledge.Guarantee<T> {
    core.map(on: .immediate) { $0.value }.replaceError(on: .immediate) { error -> T in
      fatalError("PromiseKit: a guarantee was broken: \(error)")
    }
  }

  /// Makes a guarantee with the value of one of Pledge's.
  @inlinable
  public convenience init(_ pledge: Pledge.Guarantee<T>) {
    self.init(core: pledge.promise.map(on: .immediate) { Boxed($0) })
  }
}
