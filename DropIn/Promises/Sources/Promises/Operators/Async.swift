import Dispatch

extension Promise {
  /// A closure that resolves a promise through its two parameters, now or later.
  public typealias Async =
    (@escaping @Sendable (Value) -> Void, @escaping @Sendable (Error) -> Void) throws -> Void

  /// Creates a pending promise that `work` resolves, now or later.
  ///
  /// `work` runs on `queue`, never inside this call. It receives a closure that fulfills the
  /// promise and one that rejects it. Both can be called from any thread; only the first call has
  /// an effect. If `work` throws, the promise is rejected with that error.
  @inlinable
  public convenience init(on queue: DispatchQueue = .promises, _ work: @escaping Async) {
    self.init()
    queue.hop {
      do { try work({ self.fulfill($0) }, { self.reject($0) }) } catch { self.reject(error) }
    }
  }
}
