/// The eventual result of an operation: a value or an error.
///
/// ```swift
/// fetchUser(id: 7)
///   .then { user in fetchAvatar(of: user) }
///   .done { avatar in imageView.image = avatar }
///   .catch { error in show(error) }
/// ```
///
/// A promise is *pending* until it *settles*, once and permanently: it is *fulfilled* with a value
/// or *rejected* with an error. Like `Task`, `Promise` is a handle: copies refer to the same
/// promise, and are equal.
///
/// ## Where handlers run
///
/// A closure passed without `on:` runs in the isolation in which it was written: a closure in
/// `@MainActor` code on the main actor, one in an actor's method on that actor, and any other
/// closure on the global concurrent executor. The compiler checks what it captures accordingly.
/// With `on:`, it runs on that executor. A handler never runs inside the call that attached it or
/// inside the call that settled the promise (Promises/A+ 2.2.4), unless its executor runs handlers
/// in place, like `.immediate`.
///
/// ## Lifetime
///
/// A promise retains the handlers that wait for it, so you don't need to store a chain to keep it
/// alive.
@frozen public struct Promise<Value: Sendable>: Sendable {
  @usableFromInline let cell: Cell

  @inlinable
  init(cell: Cell) { self.cell = cell }
}

extension Promise: Hashable {
  /// Returns whether both values refer to the same promise.
  public static func == (first: Self, second: Self) -> Bool { first.cell === second.cell }

  /// Hashes the identity of the promise.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(cell)) }
}

// MARK: - Creating promises

extension Promise {
  /// Creates a promise that is fulfilled with `value`.
  @inlinable
  public static func value(_ value: Value) -> Promise { Promise(cell: Root<Value>(value: value)) }

  /// Creates a promise that is rejected with `error`.
  @inlinable
  public static func rejected(
    _ error: any Error, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise {
    rejected(error, origin: SourceLocation(fileID: fileID, line: line))
  }

  @inlinable
  static func rejected(_ error: any Error, origin: SourceLocation) -> Promise {
    let rejection = Rejection(error, origin: origin)
    let cell = Root<Value>(rejection: rejection)
    cell.noteCreation(origin)
    return Promise(cell: cell)
  }

  /// Creates a pending promise and the resolver that settles it.
  ///
  /// If the resolver is deallocated without being used, the promise is rejected with
  /// ``BrokenPromiseError``, which names `fileID` and `line`.
  @inlinable
  public static func withResolvers(
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> (promise: Promise, resolver: Resolver<Value>) {
    let cell = Root<Value>()
    cell.noteCreation(SourceLocation(fileID: fileID, line: line))
    let resolver = Resolver<Value>(cell: cell, origin: SourceLocation(fileID: fileID, line: line))
    return (Promise(cell: cell), resolver)
  }

  /// Creates a promise that `body` settles through its resolver, now or later.
  ///
  /// `body` runs inside this call. If it throws, the promise is rejected with that error, unless it
  /// is already settled.
  @inlinable
  public init(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: (Resolver<Value>) throws -> Void
  ) {
    let (promise, resolver) = Promise.withResolvers(fileID: fileID, line: line)
    do {
      try body(resolver)
    } catch {
      resolver.reject(error)
    }
    self = promise
  }

}

extension Promise where Value == Void {
  /// Creates a fulfilled promise.
  @inlinable
  public init() { self = .value(()) }
}

// MARK: - Inspecting a promise

extension Promise {
  /// The current result; nil while the promise is pending.
  ///
  /// This doesn't count as handling an error.
  @inlinable
  public var currentResult: Result<Value, any Error>? {
    if cell.looksPending { return nil }
    if let rejection = cell.rejection { return .failure(rejection.error) }
    return .success(cell.value(as: Value.self))
  }

  /// Whether the promise is pending.
  @inlinable
  public var isPending: Bool { cell.looksPending }

  /// Calls `handler` on `executor` once, with the result; returns no promise.
  ///
  /// This is the lowest-level way to observe a promise. The error, if any, counts as handled.
  @inlinable
  public func observe(
    on executor: some PromiseExecutor,
    _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    observed(.result, Placed(ResultAction(handler), on: executor))
  }

  /// Calls `handler` on `executor` once, with the result, which for an abandoned promise is a
  /// ``BrokenPromiseError``.
  ///
  /// This is for bridges to libraries whose promises must eventually settle.
  @inlinable
  package func observeOutcome(
    on executor: some PromiseExecutor,
    _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    observed(.end, Placed(ResultAction(handler), on: executor))
  }

  @inlinable
  func observed(_ role: Role, _ handler: __owned Placed<ResultAction<Value>>) {
    if cell.isReady(for: handler.target), let call = InPlaceCall() {
      defer { call.end() }
      return handler.closure.call(cell.handledResult())
    }
    cell.attach(
      Handler(
        role, of: cell, on: handler.target, body: handler.erased,
        run: { observer, source in
          let body = observer.takeBody(as: ResultAction<Value>.self)
          body.call(source.handledResult())
        }))
  }
}

extension Promise {
  /// Returns a promise with the same result, which is another consumer of this one.
  @inlinable
  package func newConsumer() -> Promise {
    Promise(
      cell: cell.derive(
        Value.self, .copy
      ) { handler, source in handler.copyResult(of: source, as: Value.self) })
  }
}

extension Promise: CustomStringConvertible {
  /// The state of the promise: `Promise<Int>(pending)`, `Promise<Int>(fulfilled: 3)` and so on.
  public var description: String {
    switch currentResult {
    case nil: "Promise<\(Value.self)>(pending)"
    case .success(let value): "Promise<\(Value.self)>(fulfilled: \(value))"
    case .failure(let error): "Promise<\(Value.self)>(rejected: \(error))"
    }
  }
}
