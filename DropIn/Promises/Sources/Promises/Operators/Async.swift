import Dispatch

extension Promise {
  /// Work that resolves a promise through the two closures it is given, now or later.
  public typealias Async =
    (@escaping (Value) -> Void, @escaping (Error) -> Void) throws -> Void

  /// Creates a pending promise that `work` resolves, now or later.
  ///
  /// `work` runs on `queue`, never inside this call. It is given a closure that fulfills the
  /// promise and one that rejects it; both can be called from any thread, and only the first call
  /// counts. If `work` throws, the promise is rejected with that error.
  ///
  /// - Parameters:
  ///   - queue: Where `work` runs.
  ///   - work: Resolves the promise.
  @inlinable
  public convenience init(on queue: DispatchQueue = .promises, _ work: @escaping Async) {
    self.init()
    queue.hop {
      do {
        try work({ self.fulfill($0) }, { self.reject($0) })
      } catch {
        self.reject(error)
      }
    }
  }
}
