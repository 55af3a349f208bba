extension Promise {
  /// Creates a promise for the result of the promise that `body` returns, or rejects it with the
  /// error that `body` throws.
  ///
  /// Start a chain with `attempt` to handle an error that `body` throws like the chain's other
  /// errors. For a value rather than a promise, use `Promise(Result { … })`.
  /// Cancelling the result also cancels the promise that `body` returned, unless that has other
  /// consumers.
  ///
  /// **Execution.** `body` runs inside this call.
  @inlinable
  public static func attempt(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: () throws -> Promise
  ) -> Promise {
    let promise = attempted(fileID: fileID, line: line, body)
    return promise.isPending ? promise.newConsumer() : promise
  }

  /// Returns the same promise as `body`, or one that is rejected with the error that `body` throws.
  @inlinable
  static func attempted(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: () throws -> Promise
  ) -> Promise {
    do {
      return try body()
    } catch {
      return .rejected(error, fileID: fileID, line: line)
    }
  }

  /// Creates a settled promise with the value, or the error, of `result`.
  @inlinable @_disfavoredOverload
  public init(
    _ result: Result<Value, some Error>, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    switch result {
    case .success(let value): self = .value(value)
    case .failure(let error): self = .rejected(error, fileID: fileID, line: line)
    }
  }

  /// A new promise that stays pending until it is cancelled.
  @inlinable
  public static var never: Promise {
    let cell = Root<Value>()
    cell.noteCreation(SourceLocation(fileID: #fileID, line: #line))
    cell.noteAwaiting(.nothing)
    return Promise(cell: cell)
  }
}

extension Guarantee {
  /// A new guarantee that stays pending.
  @inlinable
  public static var never: Guarantee { Guarantee(cell: Promise<Value>.never.cell) }
}

extension Promise {
  /// Creates a promise for the result of `work`, which runs on `executor`.
  ///
  /// Cancelling the promise before `work` has started prevents it from running.
  @inlinable @_disfavoredOverload
  public init(
    on executor: some PromiseExecutor, _ work: @escaping @Sendable () throws -> Value
  ) {
    self = Promise<Void>.value(()).map(on: executor) { try work() }
  }
}
