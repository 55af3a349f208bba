// The parts of every operator: a closure, its target, and a handler that knows the types.

extension Cell {
  /// Attaches a handler that produces a `U` from this cell's result; returns the handler's cell.
  @inlinable
  final func derive<U>(
    _ type: U.Type, wants: UInt64, target: HandlerTarget, body: __owned ErasedClosure?,
    run: @escaping @Sendable (Handler, Cell) -> Void
  ) -> Cell {
    let cell = Derived<U?>(
      input: wants | target.flags, source: self, target: target.object,
      body: body, run: run)
    attach(cell)
    return cell
  }
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
  @usableFromInline let closure: Closure

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

  /// The closure as the plain function type `Plain`, which may lack the `throws`.
  @inlinable
  package func assumingIsolated<Plain>(as type: Plain.Type) -> Plain {
    unsafeBitCast(self, to: Isolated<Plain>.self).closure
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
