import Foundation
@_spi(DropIns) import Pledge

/// A promise that can't fail.
///
/// Its operators take closures that don't throw, and return guarantees. With a closure that throws
/// or returns a ``Promise``, they return a ``Promise``. A guarantee that is deallocated before it
/// is resolved logs ``LogEvent/pendingGuaranteeDeallocated``.
@_fixed_layout public final class Guarantee<T>: Thenable {
  @usableFromInline let core: Core<T>
  /// The watch; nil if the guarantee is resolved, or is certain to be resolved.
  @usableFromInline let watch: Watch?

  @inlinable
  init(core: Core<T>, watch: Watch? = nil) {
    self.core = core
    self.watch = watch
  }

  @usableFromInline
  init(_: PMKUnambiguousInitializer) {
    let (core, resolver) = Core<T>.withUnmanagedResolver()
    self.core = core
    watch = ResolverWatch(resolver)
  }

  @usableFromInline
  var box: GuaranteeBox<T> { GuaranteeBox(watch: watch as? ResolverWatch<T>) }

  /// Creates a guarantee that is fulfilled with `value`.
  @inlinable
  public static func value(_ value: T) -> Guarantee<T> { Guarantee(core: .value(Boxed(value))) }

  /// Creates a guarantee that `body` resolves through the function that it receives, now or later.
  ///
  /// `body` runs inside this call.
  @inlinable
  public convenience init(resolver body: (@escaping @Sendable (T) -> Void) -> Void) {
    self.init(.pending)
    body(box.seal)
  }

  /// Calls `to` with the value: inside this call if the guarantee is already resolved, and
  /// otherwise on the thread that resolves it.
  @inlinable
  public func pipe(to: @escaping (Result<T>) -> Void) {
    pipe { (value: T) in to(.fulfilled(value)) }
  }

  @inlinable
  func pipe(to: @escaping (T) -> Void) {
    if case .success(let box) = core.currentResult { return to(box.value) }
    nonisolated(unsafe) let handler = to
    core.observe(on: .immediate) { result in
      if case .success(let box) = result { handler(box.value) }
    }
  }

  /// The value as a result; nil while the guarantee is pending.
  @inlinable
  public var result: Result<T>? {
    guard case .success(let box) = core.currentResult else { return nil }
    return .fulfilled(box.value)
  }

  /// Creates a pending guarantee and the function that resolves it.
  @inlinable
  public class func pending() -> (guarantee: Guarantee<T>, resolve: @Sendable (T) -> Void) {
    let guarantee = Guarantee<T>(.pending)
    return (guarantee, guarantee.box.seal)
  }
}

// `@unchecked Sendable`: as for `Promise`.
extension Guarantee: @unchecked Sendable {}

/// The write side of a guarantee.
@usableFromInline
struct GuaranteeBox<T>: Sendable {
  let watch: ResolverWatch<T>?

  /// Resolves the guarantee, unless it is already resolved.
  @usableFromInline
  @Sendable func seal(_ value: T) { watch?.resolve(value) }
}

extension Guarantee {
  /// Calls `body` with the value, and returns a guarantee for `Void`.
  @discardableResult
  @inlinable
  public func done(
    on: DispatchQueue? = conf.Q.return, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping (T) -> Void
  ) -> Guarantee<Void> { map(on: on, flags: flags, body) }

  /// Calls `body` with the value, and passes the value on.
  @inlinable
  public func get(
    on: DispatchQueue? = conf.Q.return, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping (T) -> Void
  ) -> Guarantee<T> {
    map(on: on, flags: flags) { value in
      body(value)
      return value
    }
  }

  /// Returns a guarantee for the result of applying `body` to the value.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @inlinable
  public func map<U>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping (T) -> U
  ) -> Guarantee<U> {
    nonisolated(unsafe) let body = body
    let watch = Watch()
    let core = core.map(on: place(on, flags)) { box in
      let result = Boxed(body(box.value))
      watch.keep()
      return result
    }
    return Guarantee<U>(core: core, watch: watch)
  }

  /// Returns a guarantee that settles like the one that `body` returns.
  ///
  /// **Execution.** The closure runs on the queue `on`, or in place if that is nil.
  @discardableResult
  @inlinable
  public func then<U>(
    on: DispatchQueue? = conf.Q.map, flags: DispatchWorkItemFlags? = nil,
    _ body: @escaping (T) -> Guarantee<U>
  ) -> Guarantee<U> {
    nonisolated(unsafe) let body = body
    let watch = Watch()
    let core = core.then(on: place(on, flags)) { box -> Core<U> in
      let inner = body(box.value)
      watch.handOver(to: inner.watch)
      return inner.core
    }
    return Guarantee<U>(core: core, watch: watch)
  }

  /// Returns a guarantee for `Void` that is fulfilled when this one is fulfilled.
  @inlinable
  public func asVoid() -> Guarantee<Void> { map(on: nil) { _ in } }

  /// Blocks the calling thread until the guarantee is resolved.
  ///
  /// On the main thread, this logs ``LogEvent/waitOnMainThread``.
  public func wait() -> T {
    switch waitForResult() {
    case .fulfilled(let value): value
    case .rejected(let error): fatalError("PromiseKit: a guarantee was broken: \(error)")
    }
  }
}

extension Guarantee where T == Void {
  /// Creates a guarantee that is fulfilled.
  @inlinable
  public convenience init() { self.init(core: .value(Boxed(()))) }

  /// A guarantee that is fulfilled.
  @inlinable
  public static var value: Guarantee<Void> { .value(()) }
}
