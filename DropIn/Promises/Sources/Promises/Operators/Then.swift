import Dispatch

extension Promise {
  /// What is done with the value of a promise.
  public typealias Then<Result> = (Value) throws -> Result

  /// Returns a promise that is resolved as the one that `work` returns.
  ///
  /// If this promise is rejected, or `work` throws, the result is rejected with that error.
  ///
  /// - Parameters:
  ///   - queue: Where `work` runs.
  ///   - work: Takes the value and returns a promise.
  /// - Returns: A new pending promise.
  @inlinable
  @discardableResult
  public func then<Result>(
    on queue: DispatchQueue = .promises, _ work: @escaping Then<Promise<Result>>
  ) -> Promise<Result> {
    chain(on: queue, to: .adopter(), (work, queue)) { outcome, result, work in
      let (work, queue) = work
      result.adopt(try work(delivered(try outcome.get())), on: queue)
    }
  }

  /// Returns a promise that is fulfilled with what `work` returns.
  ///
  /// If this promise is rejected, or `work` throws, the result is rejected with that error.
  ///
  /// - Parameters:
  ///   - queue: Where `work` runs.
  ///   - work: Takes the value and returns another.
  /// - Returns: A new pending promise.
  @inlinable
  @discardableResult
  public func then<Result>(
    on queue: DispatchQueue = .promises, _ work: @escaping Then<Result>
  ) -> Promise<Result> {
    chain(on: queue, work) { outcome, result, work in
      result.fulfill(try work(delivered(try outcome.get())))
    }
  }

  /// Returns a promise for the same value, which is fulfilled when `work` has run.
  ///
  /// If this promise is rejected, or `work` throws, the result is rejected with that error.
  ///
  /// - Parameters:
  ///   - queue: Where `work` runs.
  ///   - work: Takes the value.
  /// - Returns: A new pending promise.
  @inlinable
  @discardableResult
  public func then(
    on queue: DispatchQueue = .promises, _ work: @escaping Then<Void>
  ) -> Promise {
    chain(on: queue, Action(work)) { outcome, result, action in
      let value = delivered(try outcome.get())
      try action.work(value)
      result.fulfill(value)
    }
  }

  /// A closure that returns nothing, as `chain` takes it along.
  ///
  /// By itself it would be a function of a generic type there, which returns even nothing in memory
  /// of the caller: the compiler wraps it in another closure for that.
  @usableFromInline
  struct Action {
    @usableFromInline let work: Then<Void>
    @inlinable init(_ work: @escaping Then<Void>) { self.work = work }
  }
}
