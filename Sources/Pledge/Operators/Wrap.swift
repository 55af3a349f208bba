extension Promise {
  /// Creates a promise for the result that `body` passes to a completion handler
  /// `(Value?, Error?)`.
  ///
  /// An error takes precedence over a value; with neither, the promise is rejected with
  /// ``PromiseError/noValueAndNoError``. `body` runs inside this call; if it throws, the promise is
  /// rejected with that error.
  ///
  /// ```swift
  /// Promise.wrap { api.load(id, completion: $0) }
  /// ```
  @inlinable
  public static func wrap(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: (_ completion: @escaping @Sendable (Value?, (any Error)?) -> Void) throws -> Void
  ) -> Promise {
    Promise(fileID: fileID, line: line) { resolver in
      try body { value, error in resolver.resolve(value, error) }
    }
  }

  /// Creates a promise for the result that `body` passes to a completion handler
  /// `(Wrapped?, Error?)`, where nil is a valid value.
  ///
  /// `body` runs inside this call.
  ///
  /// An error takes precedence over a value; with neither, the promise is fulfilled with nil.
  @inlinable
  public static func wrap<Wrapped: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: (_ completion: @escaping @Sendable (Wrapped?, (any Error)?) -> Void) throws -> Void
  ) -> Promise where Value == Wrapped? {
    Promise(fileID: fileID, line: line) { resolver in
      try body { value, error in
        if let error { resolver.reject(error) } else { resolver.fulfill(value) }
      }
    }
  }

  /// Creates a promise for the result that `body` passes to a completion handler `(Result)`.
  ///
  /// `body` runs inside this call.
  @inlinable
  public static func wrap<Failure: Error>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: (_ completion: @escaping @Sendable (Result<Value, Failure>) -> Void) throws -> Void
  ) -> Promise {
    Promise(fileID: fileID, line: line) { resolver in
      try body { result in resolver.resolve(result) }
    }
  }

  /// Creates a promise for the result that `body` passes to a completion handler
  /// `(A?, B?, Error?)`, where both values are required.
  ///
  /// `body` runs inside this call.
  @inlinable
  public static func wrap<A: Sendable, B: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: (_ completion: @escaping @Sendable (A?, B?, (any Error)?) -> Void) throws -> Void
  ) -> Promise where Value == (A, B) {
    Promise(fileID: fileID, line: line) { resolver in
      try body { first, second, error in resolver.resolve(first, second, error) }
    }
  }

  /// Creates a promise for the value that `body` passes to a completion handler `(Value)`.
  ///
  /// `body` runs inside this call.
  @inlinable @_disfavoredOverload
  public static func wrap(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: (_ completion: @escaping @Sendable (Value) -> Void) throws -> Void
  ) -> Promise {
    Promise(fileID: fileID, line: line) { resolver in
      try body { value in resolver.fulfill(value) }
    }
  }
}

extension Promise where Value == Void {
  /// Creates a promise for the result that `body` passes to a completion handler `(Error?)`.
  ///
  /// `body` runs inside this call.
  @inlinable
  public static func wrap(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: (_ completion: @escaping @Sendable ((any Error)?) -> Void) throws -> Void
  ) -> Promise {
    Promise(fileID: fileID, line: line) { resolver in
      try body { error in resolver.resolve(error) }
    }
  }

  /// Creates a promise that is fulfilled when `body` calls a completion handler without arguments.
  @inlinable
  public static func wrap(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: (_ completion: @escaping @Sendable () -> Void) throws -> Void
  ) -> Promise {
    Promise(fileID: fileID, line: line) { resolver in
      try body { resolver.fulfill() }
    }
  }
}
