/// A user's closure and its place: where it runs, and where it is released even if it's skipped.
///
/// A closure without `on:` has the isolation in which it was written. The objects that it captures,
/// and their `deinit`, can share that isolation.
///
/// `@unchecked Sendable`: immutable; the closures are `@Sendable`.
@usableFromInline
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
  init(_ closure: Closure, on executor: some PromiseExecutor) {
    self.init(erased: ErasedClosure(closure), at: HandlerTarget(executor))
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
// A generic argument of `@isolated(any)` type requires the runtime of macOS 15. A stored property of
// that type doesn't, so there is a structure for each number of parameters.
extension Placed {
  @inlinable
  init<Result>(_ closure: @escaping @Sendable @isolated(any) () throws -> Result)
  where Closure == @Sendable () throws -> Result {
    self.init(
      erased: ErasedClosure(bits: IsolatedFunction0(function: closure)),
      at: HandlerTarget(isolation: closure.isolation))
  }

  @inlinable
  init<Result>(_ closure: @escaping @Sendable @isolated(any) () -> Result)
  where Closure == @Sendable () -> Result {
    self.init(
      erased: ErasedClosure(bits: IsolatedFunction0(function: closure)),
      at: HandlerTarget(isolation: closure.isolation))
  }

  @inlinable
  init<A, Result>(_ closure: @escaping @Sendable @isolated(any) (A) throws -> Result)
  where Closure == @Sendable (A) throws -> Result {
    self.init(
      erased: ErasedClosure(bits: IsolatedFunction1(function: closure)),
      at: HandlerTarget(isolation: closure.isolation))
  }

  @inlinable
  init<A, Result>(_ closure: @escaping @Sendable @isolated(any) (A) -> Result)
  where Closure == @Sendable (A) -> Result {
    self.init(
      erased: ErasedClosure(bits: IsolatedFunction1(function: closure)),
      at: HandlerTarget(isolation: closure.isolation))
  }

  @inlinable
  init<A, B, Result>(_ closure: @escaping @Sendable @isolated(any) (A, B) throws -> Result)
  where Closure == @Sendable (A, B) throws -> Result {
    self.init(
      erased: ErasedClosure(bits: IsolatedFunction2(function: closure)),
      at: HandlerTarget(isolation: closure.isolation))
  }
}

// Closures that return nothing are wrapped: see `ResultAction`.
extension Placed {
  @inlinable
  init<Value>(_ body: @escaping @Sendable @isolated(any) (Result<Value, any Error>) -> Void)
  where Closure == ResultAction<Value> {
    self.init(
      erased: ErasedClosure(bits: IsolatedResultAction(function: body)),
      at: HandlerTarget(isolation: body.isolation))
  }

  @inlinable
  init(_ body: @escaping @Sendable @isolated(any) (any Error) -> Void)
  where Closure == ErrorAction {
    self.init(
      erased: ErasedClosure(bits: IsolatedErrorAction(function: body)),
      at: HandlerTarget(isolation: body.isolation))
  }

  @inlinable
  init(_ body: @escaping @Sendable @isolated(any) () throws -> Void)
  where Closure == CleanUpAction {
    self.init(
      erased: ErasedClosure(bits: IsolatedCleanUpAction(function: body)),
      at: HandlerTarget(isolation: body.isolation))
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

  /// The same closure, as one that releases its captures in its place.
  @usableFromInline
  func kept<Result>() -> Placed where Closure == @Sendable () throws -> Result {
    guard target.isIsolation else { return self }
    let keeper = keeper()
    return Placed({ try keeper.closure() }, at: target)
  }

  /// The same closure, as one that releases its captures in its place.
  func kept() -> Placed where Closure == CleanUpAction {
    guard target.isIsolation else { return self }
    let keeper = keeper()
    return Placed(CleanUpAction { try keeper.closure.call() }, at: target)
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
struct IsolatedResultAction<Value> {
  @usableFromInline let function: @Sendable @isolated(any) (Result<Value, any Error>) -> Void

  @inlinable
  init(function: @escaping @Sendable @isolated(any) (Result<Value, any Error>) -> Void) {
    self.function = function
  }
}

@usableFromInline
struct IsolatedErrorAction {
  @usableFromInline let function: @Sendable @isolated(any) (any Error) -> Void

  @inlinable
  init(function: @escaping @Sendable @isolated(any) (any Error) -> Void) {
    self.function = function
  }
}

@usableFromInline
struct IsolatedCleanUpAction {
  @usableFromInline let function: @Sendable @isolated(any) () throws -> Void

  @inlinable
  init(function: @escaping @Sendable @isolated(any) () throws -> Void) {
    self.function = function
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

/// Returns `closure` as a plain function; call it only on `executor(for: closure.isolation)`.
package func assumingIsolated<Result>(
  _ closure: @escaping @Sendable @isolated(any) () throws -> Result
) -> @Sendable () throws -> Result { Placed(closure).closure }

/// Returns `closure` as a plain function; call it only on `executor(for: closure.isolation)`.
package func assumingIsolated<A, Result>(
  _ closure: @escaping @Sendable @isolated(any) (A) throws -> Result
) -> @Sendable (A) throws -> Result { Placed(closure).closure }
