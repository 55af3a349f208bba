#if Tracing
  import Pledge
  import ServiceContextModule
  import Tracing

  // Operators that run their handler in a span. The span starts when the handler starts, belongs to
  // the context in which the operator was called, and ends when the handler's result is known.

  extension Thenable {
    /// Calls `body` like `then`, in a span that ends when the promise that `body` returns has
    /// settled.
    ///
    /// The span belongs to the context in which this operator is called; `body` runs in the context
    /// of the span. Errors and cancellation are recorded as in
    /// ``Pledge/Promise/withSpan(_:ofKind:context:function:file:line:_:)``. If `body` doesn't run,
    /// there is no span.
    ///
    /// **Execution.** `body` runs in the isolation in which it was written.
    public func then<U: Sendable>(
      span name: String, ofKind kind: SpanKind = .internal,
      context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
      function: String = #function, file: String = #fileID, line: UInt = #line,
      @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) throws -> Promise<U>
    ) -> Promise<U> {
      then(
        span: name, ofKind: kind, context: context(), function: function, file: file, line: line,
        on: executor(for: body.isolation),
        assumingIsolated(body))
    }

    /// The same as ``then(span:ofKind:context:function:file:line:_:)``; `body` runs on `executor`.
    @_disfavoredOverload
    public func then<U: Sendable>(
      span name: String, ofKind kind: SpanKind = .internal,
      context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
      function: String = #function, file: String = #fileID, line: UInt = #line,
      on executor: some PromiseExecutor, _ body: @escaping @Sendable (Value) throws -> Promise<U>
    ) -> Promise<U> {
      let start = spanStarter(name, kind, context(), function, file, line)
      return then(on: executor) { value in start().around { _ in try body(value) } }
    }

    /// Calls `body` like `map`, in a span that ends when `body` returns.
    ///
    /// See ``then(span:ofKind:context:function:file:line:_:)``.
    ///
    /// **Execution.** `body` runs in the isolation in which it was written.
    public func map<U: Sendable>(
      span name: String, ofKind kind: SpanKind = .internal,
      context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
      function: String = #function, file: String = #fileID, line: UInt = #line,
      @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Value) throws -> U
    ) -> Promise<U> {
      map(
        span: name, ofKind: kind, context: context(), function: function, file: file, line: line,
        on: executor(for: body.isolation),
        assumingIsolated(body))
    }

    /// The same as ``map(span:ofKind:context:function:file:line:_:)``; `body` runs on `executor`.
    @_disfavoredOverload
    public func map<U: Sendable>(
      span name: String, ofKind kind: SpanKind = .internal,
      context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
      function: String = #function, file: String = #fileID, line: UInt = #line,
      on executor: some PromiseExecutor, _ body: @escaping @Sendable (Value) throws -> U
    ) -> Promise<U> {
      let start = spanStarter(name, kind, context(), function, file, line)
      return map(on: executor) { value in try start().around(value: { try body(value) }) }
    }
  }
#endif
