// What all operators are made of: a closure, where it runs, and a handler that knows the types.

extension Cell {
  /// Attaches a handler that makes a `U` of this cell's outcome, and returns its cell.
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

/// A closure that carries its isolation, and the means to call it from there.
///
/// An `@isolated(any)` closure can only be called with `await`. The engine has already sent the
/// handler to the executor that the closure is isolated to, so calling it as a plain function is
/// what its isolation asks for. Both function types are two words, a function and a context, and
/// have the same calling convention.
@usableFromInline
struct Isolated<Closure> {
  @usableFromInline let closure: Closure

  @inlinable
  init(_ closure: Closure) { self.closure = closure }

  /// The closure as the plain function type `Plain`.
  @inlinable
  func assumingIsolated<Plain>(as type: Plain.Type) -> Plain {
    unsafeBitCast(self, to: Isolated<Plain>.self).closure
  }
}
