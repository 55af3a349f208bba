/// A user's closure and its place: where it runs, and where it is released even if it's skipped.
///
/// A closure without `on:` has the isolation in which it was written. The objects that it captures,
/// and their `deinit`, can share that isolation.
///
/// `@unchecked Sendable`: immutable; the closures are `@Sendable`.
@usableFromInline
struct Placed<Closure>: @unchecked Sendable {
  @usableFromInline let closure: Closure
  @usableFromInline let target: HandlerTarget

  @inlinable
  init(_ closure: Closure, at target: HandlerTarget) {
    self.closure = closure
    self.target = target
  }

  /// Creates the place of a closure that runs on `executor`.
  @inlinable
  init(_ closure: Closure, on executor: some PromiseExecutor) {
    self.init(closure, at: HandlerTarget(executor))
  }

  /// Returns the place of a closure of the library, which runs in place.
  @inlinable
  static func inPlace(_ closure: Closure) -> Placed { Placed(closure, at: .inPlace) }

  /// Creates the place of a closure without parameters, which runs in its own isolation.
  @inlinable
  init<Result>(_ closure: @escaping @Sendable @isolated(any) () throws -> Result)
  where Closure == @Sendable () throws -> Result {
    self.init(Isolated(closure).plain, at: HandlerTarget(isolation: closure.isolation))
  }

  /// Creates the place of a closure with one parameter, which runs in its own isolation.
  @inlinable
  init<A, Result>(_ closure: @escaping @Sendable @isolated(any) (A) throws -> Result)
  where Closure == @Sendable (A) throws -> Result {
    self.init(Isolated(closure).plain, at: HandlerTarget(isolation: closure.isolation))
  }

  /// Creates the place of a closure with two parameters, which runs in its own isolation.
  @inlinable
  init<A, B, Result>(_ closure: @escaping @Sendable @isolated(any) (A, B) throws -> Result)
  where Closure == @Sendable (A, B) throws -> Result {
    self.init(Isolated(closure).plain, at: HandlerTarget(isolation: closure.isolation))
  }

  /// Creates the place of a closure without parameters that doesn't throw, which runs in its own
  /// isolation.
  @inlinable
  init<Result>(_ closure: @escaping @Sendable @isolated(any) () -> Result)
  where Closure == @Sendable () -> Result {
    self.init(
      unsafeBitCast(Isolated(closure), to: Isolated<Closure>.self).plain,
      at: HandlerTarget(isolation: closure.isolation))
  }

  /// Creates the place of a closure that doesn't throw, which runs in its own isolation.
  @inlinable
  init<A, Result>(_ closure: @escaping @Sendable @isolated(any) (A) -> Result)
  where Closure == @Sendable (A) -> Result {
    self.init(
      unsafeBitCast(Isolated(closure), to: Isolated<Closure>.self).plain,
      at: HandlerTarget(isolation: closure.isolation))
  }

  /// Returns `change(closure)`, in the same place.
  @inlinable
  func map<Other>(_ change: (Closure) -> Other) -> Placed<Other> {
    Placed<Other>(change(closure), at: target)
  }

  /// Keeps the closure in an object that releases it in its place, so that it can be called several
  /// times.
  ///
  /// The engine itself releases the closure of a handler there.
  func keeper() -> ClosureKeeper<Closure> { ClosureKeeper(closure, target) }
}

extension Placed {
  /// The same closure, as one that releases its captures in its place.
  func kept<Result>() -> Placed where Closure == @Sendable () throws -> Result {
    guard target.isIsolation else { return self }
    let keeper = keeper()
    return Placed({ try keeper.closure() }, at: target)
  }

  /// The same closure, as one that releases its captures in its place.
  func kept() -> Placed where Closure == @Sendable () -> Void {
    guard target.isIsolation else { return self }
    let keeper = keeper()
    return Placed({ keeper.closure() }, at: target)
  }

  /// The same closure, as one that releases its captures in its place.
  func kept<A, Result>() -> Placed where Closure == @Sendable (A) throws -> Result {
    guard target.isIsolation else { return self }
    let keeper = keeper()
    return Placed({ try keeper.closure($0) }, at: target)
  }
}

/// Stores a closure, and releases it in its isolation.
///
/// `@unchecked Sendable`: immutable until `deinit`. A closure that isn't `Sendable` is called only on
/// the actor that it's kept for.
package final class ClosureKeeper<Closure>: @unchecked Sendable {
  private var stored: ErasedClosure?
  private let target: HandlerTarget

  fileprivate init(_ closure: Closure, _ target: HandlerTarget) {
    stored = ErasedClosure(closure)
    self.target = target
  }

  /// Stores a closure of `actor`, which is the current isolation.
  package init(_ closure: Closure, on actor: isolated any Actor) {
    stored = ErasedClosure(closure)
    target = HandlerTarget(isolation: actor)
  }

  deinit { target.release(exchange(&stored, with: nil)) }

  package var closure: Closure { stored.unsafelyUnwrapped.copy(as: Closure.self) }
}

/// A closure that carries its isolation, as one of the plain function type `Closure`.
///
/// An `@isolated(any)` closure can only be called with `await`. The engine has already sent the
/// handler to the executor that the closure is isolated to, so a call as a plain function respects
/// that isolation. Both function types are two words, a function and a context, and have the same
/// calling convention.
///
/// A generic argument of `@isolated(any)` type requires the runtime of macOS 15. A stored property
/// of that type doesn't, so there is a structure for each number of parameters.
@usableFromInline
package struct Isolated<Closure> {
  /// The closure; call it only on the executor that it is isolated to.
  @usableFromInline package let plain: Closure

  @inlinable
  package init<Result>(_ closure: @escaping @Sendable @isolated(any) () throws -> Result)
  where Closure == @Sendable () throws -> Result {
    self = unsafeBitCast(IsolatedFunction0(function: closure), to: Self.self)
  }

  @inlinable
  package init<A, Result>(_ closure: @escaping @Sendable @isolated(any) (A) throws -> Result)
  where Closure == @Sendable (A) throws -> Result {
    self = unsafeBitCast(IsolatedFunction1(function: closure), to: Self.self)
  }

  @inlinable
  package init<A, B, Result>(_ closure: @escaping @Sendable @isolated(any) (A, B) throws -> Result)
  where Closure == @Sendable (A, B) throws -> Result {
    self = unsafeBitCast(IsolatedFunction2(function: closure), to: Self.self)
  }
}

@usableFromInline
struct IsolatedFunction0<Result> {
  @usableFromInline let function: @Sendable @isolated(any) () throws -> Result

  @inlinable
  init(function: @escaping @Sendable @isolated(any) () throws -> Result) {
    self.function = function
  }
}

@usableFromInline
struct IsolatedFunction1<A, Result> {
  @usableFromInline let function: @Sendable @isolated(any) (A) throws -> Result

  @inlinable
  init(function: @escaping @Sendable @isolated(any) (A) throws -> Result) {
    self.function = function
  }
}

@usableFromInline
struct IsolatedFunction2<A, B, Result> {
  @usableFromInline let function: @Sendable @isolated(any) (A, B) throws -> Result

  @inlinable
  init(function: @escaping @Sendable @isolated(any) (A, B) throws -> Result) {
    self.function = function
  }
}
