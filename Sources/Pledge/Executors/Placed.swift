/// A user's closure and its place: where it runs, and where it is released even if it's skipped.
///
/// A closure without `on:` has the isolation in which it was written. The objects that it captures,
/// and their `deinit`, can share that isolation.
///
/// `@unchecked Sendable`: immutable; the closures are `@Sendable`.
@frozen @usableFromInline
struct Placed<Closure>: @unchecked Sendable {
  /// The closure without its type, so that passing it on needs no conversion.
  @usableFromInline let erased: ErasedClosure
  @usableFromInline let target: HandlerTarget

  /// The closure; call it only in its place.
  @inlinable var closure: Closure { erased.copy(as: Closure.self) }

  @inlinable
  init(erased: ErasedClosure, at target: HandlerTarget) {
    self.erased = erased
    self.target = target
  }

  @inlinable
  init(_ closure: Closure, at target: HandlerTarget) {
    self.init(erased: ErasedClosure(closure), at: target)
  }

  /// Creates the place of a closure that runs on `executor`.
  @inlinable
  init(_ closure: __owned Closure, on executor: some PromiseExecutor) {
    self.init(erased: ErasedClosure(consume closure), at: HandlerTarget(executor))
  }

  /// Returns the place of a closure of the library, which runs in place.
  @inlinable
  static func inPlace(_ closure: Closure) -> Placed { Placed(closure, at: .inPlace) }

  /// Returns `change(closure)`, in the same place.
  @inlinable
  func map<Other>(_ change: (Closure) -> Other) -> Placed<Other> {
    Placed<Other>(change(closure), at: target)
  }

  /// Keeps the closure in an object that releases it in its place, so that it can be called several
  /// times.
  ///
  /// The engine itself releases the closure of a handler there.
  func keeper() -> ClosureKeeper<Closure> { ClosureKeeper(erased, target) }
}

// A closure without `on:` runs in the isolation in which it was written.
//
// An `@isolated(any)` closure can only be called with `await`. The engine sends the handler to the
// executor that the closure is isolated to, so a call as a plain function respects that isolation.
// Both function types are two words, a function and a context, and have the same calling convention.
//
// A generic argument of `@isolated(any)` type requires the runtime of macOS 15. The payload of an
// enumeration doesn't, so there is one for each number of parameters. Closures that can't throw are
// stored like those that can.
extension Placed {
  /// Takes the bits of `function`, which contains only a closure with this isolation.
  @inlinable
  init<Function>(bits function: Function, of isolation: (any Actor)?) {
    self.init(erased: ErasedClosure(bits: function), at: HandlerTarget(isolation: isolation))
  }

  @inlinable
  init<Result>(_ closure: @escaping @Sendable @isolated(any) () throws -> Result)
  where Closure == @Sendable () throws -> Result {
    self.init(bits: IsolatedFunction0.function(closure), of: closure.isolation)
  }

  @inlinable
  init<A, Result>(_ closure: @escaping @Sendable @isolated(any) (A) throws -> Result)
  where Closure == @Sendable (A) throws -> Result {
    self.init(bits: IsolatedFunction1.function(closure), of: closure.isolation)
  }

  @inlinable
  init<A, B, Result>(_ closure: @escaping @Sendable @isolated(any) (A, B) throws -> Result)
  where Closure == @Sendable (A, B) throws -> Result {
    self.init(bits: IsolatedFunction2.function(closure), of: closure.isolation)
  }
}

// Closures that return nothing are wrapped: see `ResultAction`.
extension Placed {
  @inlinable
  init<Value>(_ body: @escaping @Sendable @isolated(any) (Result<Value, any Error>) -> Void)
  where Closure == ResultAction<Value> {
    self.init(bits: IsolatedResultAction.function(body), of: body.isolation)
  }

  @inlinable
  init(_ body: @escaping @Sendable @isolated(any) (any Error) -> Void)
  where Closure == ErrorAction {
    self.init(bits: IsolatedErrorAction.function(body), of: body.isolation)
  }

  @inlinable
  init(_ body: @escaping @Sendable @isolated(any) () throws -> Void)
  where Closure == CleanUpAction {
    self.init(bits: IsolatedCleanUpAction.function(body), of: body.isolation)
  }
}

extension Placed {
  /// The same closure, as one that ignores the value of a `Promise<Void>`.
  @inlinable
  func ignoringVoid<Result>() -> Placed<@Sendable (()) throws -> Result>
  where Closure == @Sendable () throws -> Result {
    let closure = closure
    return Placed<@Sendable (()) throws -> Result>({ _ in try closure() }, at: target)
  }

  /// The same closure, as one, made by `calling`, that releases its captures in its place.
  func kept(_ calling: (ClosureKeeper<Closure>) -> Closure) -> Placed {
    target.isIsolation ? Placed(calling(keeper()), at: target) : self
  }

  /// The same closure, as one that releases its captures in its place.
  @usableFromInline
  func kept<Result>() -> Placed where Closure == @Sendable () throws -> Result {
    kept { keeper in { try keeper.closure() } }
  }

  /// The same closure, as one that releases its captures in its place.
  func kept<A, Result>() -> Placed where Closure == @Sendable (A) throws -> Result {
    kept { keeper in { try keeper.closure($0) } }
  }
}

/// Stores a closure, and releases it in its isolation.
///
/// `@unchecked Sendable`: immutable until `deinit`. A closure that isn't `Sendable` is called only on
/// the actor that it's kept for.
package final class ClosureKeeper<Closure>: @unchecked Sendable {
  private var stored: ErasedClosure?
  private let target: HandlerTarget

  fileprivate init(_ closure: ErasedClosure, _ target: HandlerTarget) {
    stored = closure
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

@usableFromInline
enum IsolatedResultAction<Value> {
  case function(@Sendable @isolated(any) (Result<Value, any Error>) -> Void)
}

@usableFromInline
enum IsolatedErrorAction {
  case function(@Sendable @isolated(any) (any Error) -> Void)
}

@usableFromInline
enum IsolatedCleanUpAction {
  case function(@Sendable @isolated(any) () throws -> Void)
}

@usableFromInline
enum IsolatedFunction0<Result> {
  case function(@Sendable @isolated(any) () throws -> Result)
}

@usableFromInline
enum IsolatedFunction1<A, Result> {
  case function(@Sendable @isolated(any) (A) throws -> Result)
}

@usableFromInline
enum IsolatedFunction2<A, B, Result> {
  case function(@Sendable @isolated(any) (A, B) throws -> Result)
}

/// Returns `closure` as a plain function; call it only on `executor(for: closure.isolation)`.
package func assumingIsolated<Result>(
  _ closure: @escaping @Sendable @isolated(any) () throws -> Result
) -> @Sendable () throws -> Result { Placed(closure).closure }

/// Returns `closure` as a plain function; call it only on `executor(for: closure.isolation)`.
package func assumingIsolated<A, Result>(
  _ closure: @escaping @Sendable @isolated(any) (A) throws -> Result
) -> @Sendable (A) throws -> Result { Placed(closure).closure }
