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
    let property = IsolatedKeyPath(keyPath)
    return mapped(HandlerTarget(isolation: isolation)) { $0[keyPath: property.keyPath] }
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
    let property = IsolatedKeyPath(keyPath)
    return compactMapped(HandlerTarget(isolation: isolation)) { $0[keyPath: property.keyPath] }
  }
}

extension Guarantee {
  /// Returns a guarantee for the value's property at `keyPath`.
  ///
  /// **Execution.** The property is read on the actor that calls this method.
  @inlinable @_disfavoredOverload
  public func map<U: Sendable>(
    _ keyPath: KeyPath<Value, U>, isolation: isolated any Actor = #isolation
  ) -> Guarantee<U> {
    let property = IsolatedKeyPath(keyPath)
    return guaranteedMap(HandlerTarget(isolation: isolation)) { $0[keyPath: property.keyPath] }
  }
}

extension Thenable where Value: Sequence, Value.Element: Sendable {
  /// Returns a promise for each element's property at `keyPath`.
  ///
  /// **Execution.** The properties are read on the actor that calls this method.
  @inlinable @_disfavoredOverload
  public func mapValues<U: Sendable>(
    _ keyPath: KeyPath<Value.Element, U>, isolation: isolated any Actor = #isolation
  ) -> Promise<[U]> {
    let property = IsolatedKeyPath(keyPath)
    return mappedValues(HandlerTarget(isolation: isolation)) { $0[keyPath: property.keyPath] }
  }

  /// Returns a promise for each element's property at `keyPath`, without the nils.
  ///
  /// **Execution.** The properties are read on the actor that calls this method.
  @inlinable @_disfavoredOverload
  public func compactMapValues<U: Sendable>(
    _ keyPath: KeyPath<Value.Element, U?>, isolation: isolated any Actor = #isolation
  ) -> Promise<[U]> {
    let property = IsolatedKeyPath(keyPath)
    return compactMappedValues(HandlerTarget(isolation: isolation)) {
      $0[keyPath: property.keyPath]
    }
  }

  /// Returns a promise for the elements whose property at `keyPath` is true.
  ///
  /// **Execution.** The properties are read on the actor that calls this method.
  @inlinable @_disfavoredOverload
  public func filterValues(
    _ keyPath: KeyPath<Value.Element, Bool>, isolation: isolated any Actor = #isolation
  ) -> Promise<[Value.Element]> {
    let property = IsolatedKeyPath(keyPath)
    return filteredValues(HandlerTarget(isolation: isolation)) { $0[keyPath: property.keyPath] }
  }
}

/// A key path that is used on the actor that passes it to an operator.
///
/// `@unchecked Sendable`: immutable, and only used on the actor passed to the operator.
@usableFromInline
struct IsolatedKeyPath<Root, Property>: @unchecked Sendable {
  @usableFromInline let keyPath: KeyPath<Root, Property>
  @inlinable init(_ keyPath: KeyPath<Root, Property>) { self.keyPath = keyPath }
}
