import Dispatch
@_spi(DropIns) import Pledge

/// A thenable that can be rejected, and whose errors can be handled.
public protocol CatchMixin: Thenable {}

extension CatchMixin {
  /// Handles the error, and ends the chain.
  ///
  /// By default, `body` isn't called for an error that represents a cancellation.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @discardableResult
  @inlinable
  public func `catch`(
    on: DispatchQueue? = conf.Q.return, flags: DispatchWorkItemFlags? = nil,
    policy: CatchPolicy = conf.catchPolicy, _ body: @escaping (Error) -> Void
  ) -> PMKFinalizer { PMKFinalizer(attach().handled(on: place(on, flags), policy, body)) }

  /// Replaces an error with the thenable that `body` returns.
  ///
  /// If `body` throws, the result is rejected with that error. By default, an error that represents
  /// a cancellation is passed on without calling `body`.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func recover<U: Thenable>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    policy: CatchPolicy = conf.catchPolicy, _ body: @escaping (Error) throws -> U
  ) -> Promise<T> where U.T == T { recovering(place(on, flags), policy) { try body($0).attach() } }

  /// Replaces any error with the guarantee that `body` returns.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @discardableResult
  public func recover(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping (Error) -> Guarantee<T>
  ) -> Guarantee<T> {
    nonisolated(unsafe) let body = body
    let watch = Watch()
    let source = attach()
    let core = source.recover(on: place(on, flags)) { error -> Core<T> in
      let inner = body(exposed(error))
      watch.handOver(to: inner.watch)
      return inner.core
    }
    source.watch(on: .immediate) { result in
      if case .success = result { watch.keep() }
    }
    return Guarantee(core: core, watch: watch)
  }

  /// Calls `body` when the promise is fulfilled or rejected, and passes the result on.
  @inlinable
  public func ensure(
    on: DispatchQueue? = conf.Q.return, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping () -> Void
  ) -> Promise<T> {
    nonisolated(unsafe) let body = body
    return Promise(core: attach().finally(on: place(on, flags)) { body() })
  }

  /// Calls `body` when the promise is fulfilled or rejected, waits for the guarantee that it
  /// returns, and passes the result on.
  public func ensureThen(
    on: DispatchQueue? = conf.Q.return, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping () -> Guarantee<Void>
  ) -> Promise<T> {
    nonisolated(unsafe) let body = body
    return Promise(
      core: attach().finallyThen(on: place(on, flags)) { () -> Core<Void> in body().done {}.core })
  }

  /// Ends the chain and logs its error, if any, as ``LogEvent/cauterized(_:)``.
  @discardableResult
  @inlinable
  public func cauterize() -> PMKFinalizer { self.catch { conf.logHandler(.cauterized($0)) } }

  /// Replaces an error that the policy accepts, and passes others on, cancellations without a hop.
  @inlinable
  func recovering(
    _ place: QueueExecutor, _ policy: CatchPolicy,
    _ body: @escaping (any Error) throws -> Core<T>
  ) -> Promise<T> { Promise(core: attach().replacingError(on: place, policy, body)) }
}

extension CatchMixin where T == Void {
  /// Handles any error; the returned guarantee can't fail.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @discardableResult
  @inlinable
  public func recover(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping (Error) -> Void
  ) -> Guarantee<Void> {
    recover(on: on, flags: flags) { error -> Guarantee<Void> in
      body(error)
      return .value(())
    }
  }

  /// Handles the error, and returns a promise for `Void`.
  ///
  /// If `body` throws, the result is rejected with that error. By default, an error that represents
  /// a cancellation is passed on without calling `body`.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func recover(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    policy: CatchPolicy = conf.catchPolicy, _ body: @escaping (Error) throws -> Void
  ) -> Promise<Void> {
    recovering(place(on, flags), policy) { error in
      try body(error)
      return .value(Boxed(()))
    }
  }
}

// One handler for each, which is sent to its queue in the order of attachment.
extension Pledge.Promise {
  /// Calls `body` with an error that the policy accepts, and returns the guarantee of its end.
  @usableFromInline
  func handled(
    on place: QueueExecutor, _ policy: CatchPolicy, _ body: @escaping (any Error) -> Void
  ) -> Guarantee<Void> {
    nonisolated(unsafe) let body = body
    let watch = Watch()
    let end = self.catch(on: place, sparingCancellation: policy == .allErrorsExceptCancellation) {
      let error = exposed($0)
      if !policy.skips(error) { body(error) }
    }
    let core = end.map(on: .immediate) {
      watch.keep()
      return Boxed(())
    }
    return Guarantee(core: core, watch: watch)
  }

  /// Replaces an error that the policy accepts.
  @usableFromInline
  func replacingError(
    on place: QueueExecutor, _ policy: CatchPolicy,
    _ body: @escaping (any Error) throws -> Pledge.Promise<Value>
  ) -> Pledge.Promise<Value> {
    nonisolated(unsafe) let body = body
    return recover(on: place, sparingCancellation: policy == .allErrorsExceptCancellation) {
      let error = exposed($0)
      return policy.skips(error) ? nil : try unreported { try body(error) }
    }
  }
}

extension CatchPolicy {
  /// Returns whether a handler with this policy isn't called for `error`.
  @usableFromInline
  func skips(_ error: any Error) -> Bool {
    self == .allErrorsExceptCancellation && error.isCancelled
  }
}

// `@unchecked Sendable`: `pending` is immutable: a guarantee, and a function that resolves it,
// which can be called on any thread.
/// The end of a chain, which `catch` returns; only `finally` can follow.
public class PMKFinalizer: @unchecked Sendable {
  @usableFromInline let pending: (guarantee: Guarantee<Void>, resolve: (()) -> Void)

  @usableFromInline
  init(_ guarantee: Guarantee<Void>) { pending = (guarantee, guarantee.box.seal) }

  /// Calls `body` after the error has been handled, or if there is no error.
  @inlinable
  public func finally(
    on: DispatchQueue? = conf.Q.return, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping () -> Void
  ) { pending.guarantee.done(on: on, flags: flags) { body() } }
}
