// What can't be called has a message in place of a comment.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Overloads that can't be called, or are deprecated: they produce a message when a closure has the
// wrong type. The compiler considers most of them only if no other overload matches. For names from
// other libraries, see OtherNames.swift.

extension Thenable {
  @available(*, unavailable, message: "the closure of 'map' can't await; use 'asyncMap'")
  @_disfavoredOverload
  public func map<U: Sendable>(_ transform: @escaping @Sendable (Value) async throws -> U)
    -> Promise<U>
  { unavailable() }

  @available(*, unavailable, message: "the closure of 'then' can't await; use 'asyncMap'")
  @_disfavoredOverload
  public func then<U: Sendable>(_ body: @escaping @Sendable (Value) async throws -> U)
    -> Promise<U>
  { unavailable() }

  @available(*, unavailable, message: "the closure of 'done' can't await; use 'asyncMap'")
  @_disfavoredOverload
  public func done(_ body: @escaping @Sendable (Value) async throws -> Void) -> Promise<Void> {
    unavailable()
  }

  // Two forms of each: after the first, any use of the value type-checks, and the second has whatever
  // type its result must have. With one of them, the compiler would explain another mistake, which it
  // finds further on in the chain.

  @available(
    *, unavailable,
    message:
      "the closure of 'then' must return a promise; use 'map' if it returns a value, 'done' if it returns nothing, and write 'return' if it has several statements; if it does, a handler further on has the mistake, such as a misspelled member"
  )
  public func then<U>(_ body: @escaping @Sendable (Value) throws -> U) -> Promise<Mistake> {
    unavailable()
  }

  @available(
    *, unavailable,
    message:
      "the closure of 'then' must return a promise; use 'map' if it returns a value, 'done' if it returns nothing, and write 'return' if it has several statements; if it does, a handler further on has the mistake, such as a misspelled member"
  )
  @_disfavoredOverload
  public func then<U, V: Sendable>(_ body: @escaping @Sendable (Value) throws -> U) -> Promise<V> {
    unavailable()
  }

  @available(
    *, unavailable,
    message:
      "the closure of 'then' must return a promise, not an optional; return '.value(nil)' or '.rejected(…)', or throw an error"
  )
  public func then<U>(_ body: @escaping @Sendable (Value) throws -> Promise<U>?) -> Promise<Mistake>
  {
    unavailable()
  }

  @available(
    *, unavailable,
    message:
      "the closure of 'then' must return a promise, not an optional; return '.value(nil)' or '.rejected(…)', or throw an error"
  )
  @_disfavoredOverload
  public func then<U, V: Sendable>(_ body: @escaping @Sendable (Value) throws -> Promise<U>?)
    -> Promise<V>
  {
    unavailable()
  }

  @available(*, unavailable, message: "the closure of 'get' can't await; use 'asyncMap'")
  @_disfavoredOverload
  public func get(_ body: @escaping @Sendable (Value) async throws -> Void) -> Promise<Value> {
    unavailable()
  }

  @available(
    *, unavailable,
    message:
      "'tap' takes a closure without 'try' and 'await'; use 'asyncMap', 'asyncRecover' or 'asyncFinally' for one that awaits"
  )
  @_disfavoredOverload
  public func tap(_ body: @escaping @Sendable (Result<Value, any Error>) async throws -> Void)
    -> Promise<Value>
  {
    unavailable()
  }

  @available(*, unavailable, message: "the closure of 'compactMap' can't await; use 'asyncMap'")
  @_disfavoredOverload
  public func compactMap<U: Sendable>(_ transform: @escaping @Sendable (Value) async throws -> U?)
    -> Promise<U>
  {
    unavailable()
  }

  @available(*, unavailable, message: "the closure of 'validate' can't await; use 'asyncMap'")
  @_disfavoredOverload
  public func validate(_ isValid: @escaping @Sendable (Value) async throws -> Bool) -> Promise<
    Value
  > {
    unavailable()
  }
}

extension Promise {
  @available(
    *, unavailable,
    message:
      "the closure of 'recover' must return a promise of the same value type; use 'replaceError' if it returns a value, 'catch' if it only handles the error"
  )
  @_disfavoredOverload
  public func recover<R>(_ body: @escaping @Sendable (any Error) throws -> R) -> Promise<Value> {
    unavailable()
  }

  @available(
    *, unavailable,
    message:
      "the closure of 'recover' must return a promise, not an optional; throw the error that isn't replaced"
  )
  @_disfavoredOverload
  public func recover(_ body: @escaping @Sendable (any Error) throws -> Promise<Value>?)
    -> Promise<Value>
  {
    unavailable()
  }

  @available(*, unavailable, message: "the closure of 'recover' can't await; use 'asyncRecover'")
  @_disfavoredOverload
  public func recover(_ body: @escaping @Sendable (any Error) async throws -> Value)
    -> Promise<Value>
  { unavailable() }

  @available(
    *, unavailable,
    message:
      "the closure of 'recover(only:)' must return a promise of the same value type; use 'replaceError(only:)' if it returns a value"
  )
  @_disfavoredOverload
  public func recover<E: Error, R>(only: E.Type, _ body: @escaping @Sendable (E) throws -> R)
    -> Promise<Value>
  { unavailable() }

  @available(*, unavailable, message: "the closure of 'finally' can't await; use 'asyncFinally'")
  @_disfavoredOverload
  public func finally(_ body: @escaping @Sendable () async throws -> Void) -> Promise<Value> {
    unavailable()
  }

  @available(*, unavailable, message: "the closure of 'catch' can't await; use 'asyncRecover'")
  @_disfavoredOverload
  public func `catch`(_ body: @escaping @Sendable (any Error) async throws -> Void)
    -> Guarantee<Void>
  { unavailable() }

  @available(
    *, unavailable,
    message:
      "the closure of 'catch' cannot throw; use 'recover', or 'mapError' to replace the error"
  )
  @_disfavoredOverload
  public func `catch`(_ body: @escaping @Sendable (any Error) throws -> Void) -> Guarantee<Void> {
    unavailable()
  }

  @available(
    *, unavailable,
    message:
      "the closure of 'attempt' must return a promise; for a value, use 'Promise(Result { … })', and write '_ in' where the next closure ignores it"
  )
  @_disfavoredOverload
  public static func attempt(_ body: () throws -> Value) -> Promise {
    unavailable()
  }

  @available(
    *, unavailable,
    message:
      "the closure of 'replaceError' returns a value without 'try' and 'await'; use 'recover' for one that throws, 'asyncRecover' for one that awaits"
  )
  @_disfavoredOverload
  public func replaceError(_ body: @escaping @Sendable (any Error) async throws -> Value)
    -> Guarantee<Value>
  { unavailable() }
}

extension Guarantee {
  // Deprecated rather than unavailable: otherwise, the compiler would choose the overload of the
  // preceding operator that returns a promise, and show no message.
  /// Explains a mistake: a guarantee has no error, so that the closure is never called.
  @available(
    *, deprecated, message: "a guarantee cannot fail, so there is no error to handle; remove this"
  )
  @discardableResult
  public func `catch`(_ body: @escaping @Sendable (any Error) -> Void) -> Guarantee<Void> {
    asVoid()
  }

  /// Explains a mistake: a guarantee has no error, so that the closure is never called.
  @available(
    *, deprecated, message: "a guarantee cannot fail, so there is no error to replace; remove this"
  )
  public func recover<R>(_ body: @escaping @Sendable (any Error) throws -> R) -> Guarantee<Value> {
    self
  }

  /// Explains a mistake: a guarantee has no error.
  @available(
    *, deprecated, message: "a guarantee cannot fail, so there is no error to drop; remove this"
  )
  public func ignoreErrors() {}
}

func unavailable() -> Never { fatalError("Pledge: unavailable") }

/// The value of a promise that a mistaken call returns: it has every member.
@available(*, unavailable)
@dynamicMemberLookup
public struct Mistake: Sendable {
  public subscript(dynamicMember name: String) -> Mistake { Pledge.unavailable() }
}
