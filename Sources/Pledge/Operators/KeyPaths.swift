// In a module whose default isolation is the main actor, a key path of one of the module's own
// types isn't a `@Sendable` function. These overloads take the key path itself, and use it on the
// actor of the code that contains it. Code without an actor can't call them: it passes a literal
// that is a `@Sendable` function, or a closure, such as `{ $0.id }`. An overload for `Sendable` key
// paths wouldn't help: where a literal isn't a `@Sendable` function, it isn't a `Sendable` key path.

extension Thenable {
  /// Returns a promise for the value's property at `keyPath`.
  ///
  /// **Execution.** The property is read on the actor that calls this method.
  @inlinable @_disfavoredOverload
  public func map<U: Sendable>(
    _ keyPath: KeyPath<Value, U>, isolation: isolated any Actor = #isolation
  ) -> Promise<U> {
    mapped(Placed(keyPath, on: isolation))
  }

  /// Returns a promise for the value's property at `keyPath`, unless that is nil.
  ///
  /// If the property is nil, the returned promise is rejected with ``PromiseError/noValue``.
  ///
  /// **Execution.** The property is read on the actor that calls this method.
  @inlinable @_disfavoredOverload
  public func compactMap<U: Sendable>(
    _ keyPath: KeyPath<Value, U?>, isolation: isolated any Actor = #isolation
  ) -> Promise<U> {
    compactMapped(Placed(keyPath, on: isolation))
  }
}

/// A key path that is used on the actor that passes it to an operator.
///
/// `@unchecked Sendable`: immutable, and only used on the actor passed to the operator.
@frozen @usableFromInline
struct IsolatedKeyPath<Root, Property>: @unchecked Sendable {
  @usableFromInline let keyPath: KeyPath<Root, Property>
  @inlinable init(_ keyPath: KeyPath<Root, Property>) { self.keyPath = keyPath }
}

extension Placed {
  /// Creates the place of a closure that reads `keyPath` on `isolation`.
  @inlinable
  init<Root, Property>(_ keyPath: KeyPath<Root, Property>, on isolation: any Actor)
  where Closure == @Sendable (Root) throws -> Property {
    let property = IsolatedKeyPath(keyPath)
    self.init({ $0[keyPath: property.keyPath] }, at: HandlerTarget(isolation: isolation))
  }
}
