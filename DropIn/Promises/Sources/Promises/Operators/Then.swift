import Dispatch

extension Promise {
  /// A closure that receives a promise's value.
  public typealias Then<Result> = (Value) throws -> Result

  // The overloads are in the original's order, in which the compiler tries them: in another order, it
  // gives up on some chains that it accepts with the original.

  /// Returns a promise that is resolved like the one that `work` returns.
  ///
  /// If this promise is rejected, or `work` throws, the result is rejected with that error.
  ///
  /// **Execution.** `work` runs on `queue`.
  @inlinable
  @discardableResult
  public func then<Result>(
    on queue: DispatchQueue = .promises, _ work: @escaping Then<Promise<Result>>
  ) -> Promise<Result> {
    chain(on: queue, to: Promise<Result>(adopter: ()), (work, queue)) { outcome, result, work in
      let (work, queue) = work
      result.adopt(try work(delivered(try outcome.get())), on: queue)
    }
  }

  /// Returns a promise for the result of applying `work` to this promise's value.
  ///
  /// If this promise is rejected, or `work` throws, the result is rejected with that error.
  ///
  /// **Execution.** `work` runs on `queue`.
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
  /// **Execution.** `work` runs on `queue`.
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

  /// A closure without a result, in the form that `chain` takes.
  ///
  /// Passed directly, it would have a generic function type, which returns its result indirectly
  /// even if that is `Void`, and the compiler would wrap it in another closure.
  @frozen @usableFromInline
  struct Action {
    @usableFromInline let work: Then<Void>
    @inlinable init(_ work: @escaping Then<Void>) { self.work = work }
  }
}
