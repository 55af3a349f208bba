#if Tracing
  import Pledge
  import ServiceContextModule
  import Tracing

  extension Promise {
    /// Starts a span, calls `operation` in its context, and ends the span when the promise that
    /// `operation` returns has settled.
    ///
    /// ```swift
    /// Promise.withSpan("checkout") { span in
    ///   reserve(cart).then(span: "charge") { reservation in charge(reservation) }
    /// }
    /// ```
    ///
    /// The span records an error, or the event `cancelled` if the promise is cancelled. If the
    /// promise is deallocated before it settles, the span ends with the event `abandoned`. If
    /// `operation` throws, the returned promise is rejected with that error.
    ///
    /// - Parameters:
    ///   - name: The name of the operation.
    ///   - kind: The kind of the span.
    ///   - context: The context to which the span belongs.
    ///   - operation: A closure that starts the work. It runs inside this call. If
    ///     `TaskLocals.propagateServiceContext()` was called, the span's context is also current in
    ///     the handlers that the closure attaches.
    public static func withSpan(
      _ name: String, ofKind kind: SpanKind = .internal,
      context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
      function: String = #function, file: String = #fileID, line: UInt = #line,
      _ operation: (any Span) throws -> Promise
    ) -> Promise {
      spanStarter(name, kind, context(), function, file, line)().around(operation)
    }

    /// Starts a span that ends when this promise has settled, and returns a promise with the same
    /// result.
    ///
    /// See ``withSpan(_:ofKind:context:function:file:line:_:)``.
    public func traced(
      as name: String, ofKind kind: SpanKind = .internal,
      context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
      function: String = #function, file: String = #fileID, line: UInt = #line
    ) -> Promise {
      spanStarter(name, kind, context(), function, file, line)().around { _ in self }
    }
  }

  /// Returns a closure that starts a span.
  func spanStarter(
    _ name: String, _ kind: SpanKind, _ context: ServiceContext, _ function: String, _ file: String,
    _ line: UInt
  ) -> @Sendable () -> OpenSpan {
    let tracer = InstrumentationSystem.tracer
    return {
      let span: any Span = tracer.startSpan(
        name, context: context, ofKind: kind, at: DefaultTracerClock.now, function: function,
        file: file, line: line)
      return OpenSpan(span)
    }
  }

  /// A span that ends once, at the latest when this object is deallocated.
  final class OpenSpan: Sendable {
    private let span: any Span
    private let isOpen = Mutex(true)

    init(_ span: any Span) { self.span = span }

    deinit {
      // The handler that ends the span was released without being called.
      end { $0.addEvent("abandoned") }
    }

    /// Calls `work` in the span's context, and ends the span when the promise that it returns has
    /// settled.
    func around<Value>(_ work: (any Span) throws -> Promise<Value>) -> Promise<Value> {
      do {
        return try ServiceContext.withValue(span.context) { try work(span) }
          .noting { error in if let error { self.fail(error) } else { self.end { _ in } } }
      } catch {
        fail(error)
        return .rejected(error)
      }
    }

    /// Calls `work` in the span's context and ends the span.
    func around<Value>(value work: () throws -> Value) throws -> Value {
      do {
        let value = try ServiceContext.withValue(span.context) { try work() }
        end { _ in }
        return value
      } catch {
        fail(error)
        throw error
      }
    }

    private func fail(_ error: any Error) {
      end { span in
        if error is CancellationError {
          span.addEvent("cancelled")
        } else {
          span.recordError(error)
          span.setStatus(SpanStatus(code: .error))
        }
      }
    }

    private func end(_ describe: (any Span) -> Void) {
      let mustEnd = isOpen.withLock { isOpen in
        defer { isOpen = false }
        return isOpen
      }
      guard mustEnd else { return }
      describe(span)
      span.end()
    }
  }
#endif
