// Overloads that cannot be called: they give a message where a closure has the wrong shape, or where
// a name is that of another library. The compiler looks at them only when nothing else fits.

extension Thenable {
  /// Explains a mistake, and cannot be called.
  @available(
    *, unavailable,
    message: "'map' takes a closure without 'await'; use 'asyncMap' for one that awaits"
  )
  @_disfavoredOverload
  public func map<U: Sendable>(_ transform: @escaping @Sendable (Value) async throws -> U)
    -> Promise<U>
  { unavailable() }

  /// Explains a mistake, and cannot be called.
  @available(
    *, unavailable,
    message: "'then' takes a closure without 'await'; use 'asyncMap' for one that awaits"
  )
  @_disfavoredOverload
  public func then<U: Sendable>(_ body: @escaping @Sendable (Value) async throws -> U)
    -> Promise<U>
  { unavailable() }

  /// Explains a mistake, and cannot be called.
  @available(
    *, unavailable,
    message: "'done' takes a closure without 'await'; use 'asyncMap' for one that awaits"
  )
  @_disfavoredOverload
  public func done(_ body: @escaping @Sendable (Value) async throws -> Void) -> Promise<Void> {
    unavailable()
  }

  /// Explains a mistake, and cannot be called.
  @available(
    *, unavailable,
    message:
      "the closure of 'then' must return a promise; use 'map' if it returns a value, 'done' if it returns nothing, and write 'return' if it has several statements"
  )
  @_disfavoredOverload
  public func then<U>(_ body: @escaping @Sendable (Value) throws -> U) -> Promise<Value> {
    unavailable()
  }

  /// Explains a mistake, and cannot be called.
  @available(
    *, unavailable,
    message:
      "the closure of 'then' must return a promise; use 'map' if it returns a value, 'done' if it returns nothing, and write 'return' if it has several statements"
  )
  @_disfavoredOverload
  public func then(_ body: @escaping @Sendable (Value) throws -> Void) -> Promise<Void> {
    unavailable()
  }

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, renamed: "then")
  @_disfavoredOverload
  public func flatMap<U: Sendable>(_ body: @escaping @Sendable (Value) throws -> Promise<U>)
    -> Promise<U>
  { unavailable() }

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, renamed: "done")
  @_disfavoredOverload
  public func sink(_ body: @escaping @Sendable (Value) throws -> Void) -> Promise<Void> {
    unavailable()
  }
}

extension Promise {
  /// Explains a mistake, and cannot be called.
  @available(
    *, unavailable,
    message:
      "the closure of 'recover' must return a promise of the same value type; use 'replaceError' if it returns a value, 'catch' if it only handles the error"
  )
  @_disfavoredOverload
  public func recover<R>(_ body: @escaping @Sendable (any Error) throws -> R) -> Promise<Value> {
    unavailable()
  }

  /// Explains a mistake, and cannot be called.
  @available(
    *, unavailable,
    message: "'recover' takes a closure without 'await'; use 'asyncRecover' for one that awaits"
  )
  @_disfavoredOverload
  public func recover(_ body: @escaping @Sendable (any Error) async throws -> Value)
    -> Promise<Value>
  { unavailable() }

  /// Explains a mistake, and cannot be called.
  @available(
    *, unavailable,
    message:
      "the closure of 'recover(only:)' must return a promise of the same value type; use 'replaceError(only:)' if it returns a value"
  )
  @_disfavoredOverload
  public func recover<E: Error, R>(only: E.Type, _ body: @escaping @Sendable (E) throws -> R)
    -> Promise<Value>
  { unavailable() }

  /// Explains a mistake, and cannot be called.
  @available(
    *, unavailable,
    message: "'finally' takes a closure without 'await'; use 'asyncFinally' for one that awaits"
  )
  @_disfavoredOverload
  public func finally(_ body: @escaping @Sendable () async throws -> Void) -> Promise<Value> {
    unavailable()
  }

  /// Explains a mistake, and cannot be called.
  @available(
    *, unavailable,
    message: "'catch' takes a closure without 'await'; use 'asyncRecover' for one that awaits"
  )
  @_disfavoredOverload
  public func `catch`(_ body: @escaping @Sendable (any Error) async throws -> Void)
    -> Guarantee<Void>
  { unavailable() }

  /// Explains a mistake, and cannot be called.
  @available(
    *, unavailable,
    message:
      "the closure of 'catch' cannot throw; use 'recover', or 'mapError' to replace the error"
  )
  @_disfavoredOverload
  public func `catch`(_ body: @escaping @Sendable (any Error) throws -> Void) -> Guarantee<Void> {
    unavailable()
  }

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, renamed: "finally")
  public func ensure<R>(_ body: @escaping @Sendable () throws -> R) -> Promise<Value> {
    unavailable()
  }

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, renamed: "finally")
  public func ensureThen<R>(_ body: @escaping @Sendable () throws -> R) -> Promise<Value> {
    unavailable()
  }

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, renamed: "finally")
  public func always<R>(_ body: @escaping @Sendable () throws -> R) -> Promise<Value> {
    unavailable()
  }

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, renamed: "cauterize")
  public func cauterized() {}

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, renamed: "recover")
  public func flatMapError(_ body: @escaping @Sendable (any Error) throws -> Promise<Value>)
    -> Promise<Value>
  { unavailable() }

  /// Explains a mistake, and cannot be called.
  @available(
    *, unavailable,
    message:
      "the closure of 'attempt' must return a promise; for a value, use 'Promise(catching:)', and write '_ in' where the next closure ignores it"
  )
  @_disfavoredOverload
  public static func attempt(_ body: () throws -> Value) -> Promise {
    unavailable()
  }

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, renamed: "withResolvers()")
  public static func pending() -> (promise: Promise, resolver: Resolver<Value>) { unavailable() }

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, renamed: "value")
  public static func resolve(_ value: Value) -> Promise { unavailable() }

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, renamed: "rejected")
  public static func reject(_ error: any Error) -> Promise { unavailable() }

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, message: "use 'Promise.rejected(error)'")
  public init(error: any Error) { unavailable() }

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, message: "use 'try await promise.value'")
  public func await() -> Value { unavailable() }

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, message: "use 'Promise.value(_:)'")
  @_disfavoredOverload
  public init(value: Value) { unavailable() }
}

extension Guarantee {
  // Deprecated and not unavailable: otherwise the compiler would take the operator before it for
  // the one that makes a promise of the guarantee, and say nothing.
  /// Explains a mistake: a guarantee has no error.
  @available(
    *, deprecated, message: "a guarantee cannot fail, so there is no error to handle; remove this"
  )
  @discardableResult
  public func `catch`(_ body: @escaping @Sendable (any Error) -> Void) -> Guarantee<Void> {
    asVoid()
  }

  /// Explains a mistake: a guarantee has no error.
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
  public func cauterize() {}

  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, renamed: "finally")
  public func ensure(_ body: @escaping @Sendable () -> Void) -> Guarantee<Value> { unavailable() }
}

/// Explains a mistake, and cannot be called.
@available(
  *, unavailable, message: "start the chain with the promise itself, or with 'Promise.attempt'"
)
public func firstly<R>(_ body: () throws -> R) -> R { unavailable() }

/// Explains a mistake, and cannot be called.
@available(*, unavailable, message: "use 'Promise.all'")
public func when<T>(fulfilled promises: T...) -> Promise<Void> { unavailable() }

/// Explains a mistake, and cannot be called.
@available(*, unavailable, message: "use 'Promise.allSettled'")
public func when<T>(resolved promises: T...) -> Promise<Void> { unavailable() }

/// Explains a mistake, and cannot be called.
@available(*, unavailable, message: "use 'Promise.after'")
public func after(_ duration: Duration) -> Guarantee<Void> { unavailable() }

/// Explains a mistake, and cannot be called.
@available(*, unavailable, message: "use 'Promise.after'")
public func after(seconds: Double) -> Guarantee<Void> { unavailable() }

extension PromiseExecutor where Self == MainExecutor {
  /// Explains a mistake, and cannot be called.
  @available(*, unavailable, renamed: "global")
  public static var background: MainExecutor { unavailable() }
}

private func unavailable() -> Never { fatalError("Pledge: unavailable") }
