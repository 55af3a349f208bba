#if compiler(>=6.2)
  extension Promise {
    /// Creates a promise for the result of an asynchronous function that runs in the isolation of
    /// its caller.
    ///
    /// Use this for a reference to a function of a module with `NonisolatedNonsendingByDefault`, as
    /// in `Promise(loadSettings)`. Cancelling the promise cancels the task and rejects the promise
    /// with `CancellationError`.
    ///
    /// **Execution.** `function` runs in a new task, on the global concurrent executor.
    @_disfavoredOverload
    public init(
      fileID: StaticString = #fileID, line: UInt = #line,
      _ function: nonisolated(nonsending) @escaping @Sendable () async throws -> Value
    ) {
      self.init(priority: nil, fileID: fileID, line: line) { try await function() }
    }
  }
#endif
