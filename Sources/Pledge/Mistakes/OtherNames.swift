// What can't be called has a message in place of a comment.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Names from other libraries. They can't be called: the compiler's message suggests what to use
// instead.

extension Thenable {
  @available(*, unavailable, renamed: "then")
  @_disfavoredOverload
  public func flatMap<U: Sendable>(_ body: @escaping @Sendable (Value) throws -> Promise<U>)
    -> Promise<U>
  { unavailable() }

  @available(*, unavailable, renamed: "done")
  @_disfavoredOverload
  public func sink(_ body: @escaping @Sendable (Value) throws -> Void) -> Promise<Void> {
    unavailable()
  }

  @available(*, unavailable, renamed: "done")
  public func onSuccess(_ body: @escaping @Sendable (Value) -> Void) -> Promise<Void> {
    unavailable()
  }

  @available(*, unavailable, renamed: "tap")
  public func onComplete(
    _ body: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) -> Promise<Value> { unavailable() }

  @available(*, unavailable, renamed: "map")
  public func flatMapThrowing<U: Sendable>(
    _ body: @escaping @Sendable (Value) throws -> U
  ) -> Promise<U> { unavailable() }

  @available(*, unavailable, message: "use 'timeout(after: .seconds(…))'")
  public func timeout(seconds: Double) -> Promise<Value> { unavailable() }

  @available(*, unavailable, message: "use 'timeout(after: .seconds(…))'")
  @_disfavoredOverload
  public func timeout(_ seconds: Double) -> Promise<Value> { unavailable() }

  @available(*, unavailable, message: "use 'delay(.seconds(…))'")
  @_disfavoredOverload
  public func delay(_ seconds: Double) -> Promise<Value> { unavailable() }

  @available(*, unavailable, message: "use 'try await promise.value'")
  public func async() async throws -> Value { unavailable() }
}

extension Promise {
  @available(*, unavailable, message: "a promise doesn't start again; use 'Promise.retry(…) { … }'")
  @_disfavoredOverload
  public func retry(_ count: Int) -> Promise<Value> { unavailable() }

  @available(*, unavailable, message: "use 'currentResult'")
  public var isFulfilled: Bool { unavailable() }

  @available(*, unavailable, message: "use 'currentResult'")
  public var isRejected: Bool { unavailable() }

  @available(*, unavailable, message: "use '!isPending'")
  public var isResolved: Bool { unavailable() }

  @available(*, unavailable, message: "use 'currentResult', or 'await promise.result'")
  public var error: (any Error)? { unavailable() }

  @available(*, unavailable, message: "use 'bound(to:)'")
  public func store(in scope: PromiseScope) { unavailable() }

  @available(*, unavailable, renamed: "finally")
  public func ensure<R>(_ body: @escaping @Sendable () throws -> R) -> Promise<Value> {
    unavailable()
  }

  @available(*, unavailable, renamed: "finallyThen")
  public func ensureThen<R>(_ body: @escaping @Sendable () throws -> R) -> Promise<Value> {
    unavailable()
  }

  @available(*, unavailable, renamed: "finally")
  public func always<R>(_ body: @escaping @Sendable () throws -> R) -> Promise<Value> {
    unavailable()
  }

  @available(*, unavailable, renamed: "ignoreErrors")
  public func cauterize() {}

  @available(*, unavailable, message: "every promise can be cancelled; remove this")
  public func cancellize() -> Promise<Value> { unavailable() }

  @available(*, unavailable, renamed: "recover")
  public func flatMapError(_ body: @escaping @Sendable (any Error) throws -> Promise<Value>)
    -> Promise<Value>
  { unavailable() }

  @available(*, unavailable, renamed: "withResolvers()")
  public static func pending() -> (promise: Promise, resolver: Resolver<Value>) { unavailable() }

  @available(*, unavailable, renamed: "value")
  public static func resolve(_ value: Value) -> Promise { unavailable() }

  @available(*, unavailable, renamed: "rejected")
  public static func reject(_ error: any Error) -> Promise { unavailable() }

  @available(*, unavailable, message: "use 'Promise.rejected(error)'")
  public init(error: any Error) { unavailable() }

  @available(*, unavailable, message: "use 'try await promise.value'")
  public func await() -> Value { unavailable() }

  @available(*, unavailable, message: "use 'Promise.value(_:)'")
  @_disfavoredOverload
  public init(value: Value) { unavailable() }

  @available(*, unavailable, renamed: "catch")
  public func onFailure(_ body: @escaping @Sendable (any Error) -> Void) -> Guarantee<Void> {
    unavailable()
  }

  @available(*, unavailable, renamed: "catch(only:_:)")
  @_disfavoredOverload
  public func `catch`<E: Error>(_ type: E.Type, _ body: @escaping @Sendable (E) -> Void)
    -> Promise<Void>
  { unavailable() }

  @available(*, unavailable, renamed: "recover(only:_:)")
  @_disfavoredOverload
  public func recover<E: Error>(
    _ type: E.Type, _ body: @escaping @Sendable (E) throws -> Promise<Value>
  ) -> Promise<Value> { unavailable() }

  @available(
    *, unavailable,
    message: "use 'Promise.retry(.fixed(attempts: …, delay: .seconds(…)))'"
  )
  public static func retry(
    attempts: Int, delay: Double = 1, _ operation: @escaping @Sendable () throws -> Promise
  ) -> Promise { unavailable() }

  @available(
    *, unavailable,
    message: "the closure is given one resolver: '{ resolver in resolver.fulfill(…) }'"
  )
  @_disfavoredOverload
  public init(
    _ body: (_ fulfill: @escaping (Value) -> Void, _ reject: @escaping (any Error) -> Void) throws
      -> Void
  ) { unavailable() }
}

extension Guarantee {
  @available(*, unavailable, renamed: "finally")
  public func ensure(_ body: @escaping @Sendable () -> Void) -> Guarantee<Value> { unavailable() }

  @available(
    *, unavailable,
    message:
      "a guarantee has no error to end with; cancel a promise made from it, such as 'promise'"
  )
  public func cancel() {}
}

extension Promise where Value == Void {
  @available(*, unavailable, message: "use 'Promise.after(.seconds(…))'")
  @_disfavoredOverload
  public static func after(_ seconds: Double) -> Promise<Void> { unavailable() }
}

extension Resolver {
  @available(*, unavailable, renamed: "fulfill(_:)")
  public func succeed(_ value: Value) { unavailable() }

  @available(*, unavailable, renamed: "reject(_:)")
  public func fail(_ error: any Error) { unavailable() }

  @available(*, unavailable, renamed: "fulfill(_:)")
  public func resume(returning value: Value) { unavailable() }

  @available(*, unavailable, renamed: "reject(_:)")
  public func resume(throwing error: any Error) { unavailable() }

  @available(*, unavailable, message: "use 'reject(CancellationError())'")
  public func cancel() { unavailable() }

  @available(*, unavailable, message: "pass the value: 'fulfill(…)'")
  @_disfavoredOverload
  public func fulfill() { unavailable() }
}

extension GuaranteeResolver {
  @available(*, unavailable, message: "use 'fulfill(…)'")
  public func callAsFunction(_ value: Value) { unavailable() }

  @available(*, unavailable, message: "a guarantee cannot be rejected; make a promise")
  public func reject(_ error: any Error) { unavailable() }

  @available(*, unavailable, message: "pass the value: 'fulfill(…)'")
  @_disfavoredOverload
  public func fulfill() { unavailable() }
}

extension PromiseExecutor where Self == GlobalExecutor {
  @available(
    *, unavailable,
    message:
      "write '{ @MainActor in … }' without 'on:'; for a closure that isn't isolated, 'on: DispatchQueue.main'"
  )
  public static var main: GlobalExecutor { unavailable() }

  @available(*, unavailable, renamed: "global")
  public static var background: GlobalExecutor { unavailable() }

  @available(*, unavailable, renamed: "global")
  public static var `default`: GlobalExecutor { unavailable() }

  @available(*, unavailable, renamed: "global")
  public static var userInteractive: GlobalExecutor { unavailable() }

  @available(*, unavailable, renamed: "global")
  public static var userInitiated: GlobalExecutor { unavailable() }

  @available(*, unavailable, renamed: "global")
  public static var utility: GlobalExecutor { unavailable() }
}

extension PromiseScope {
  @available(*, unavailable, renamed: "cancelAll()")
  public func cancel() {}
}
