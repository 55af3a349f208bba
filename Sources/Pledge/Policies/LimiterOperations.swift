// The operations of a limiter: promises, asynchronous functions, and calls of a task.

extension Limiter {
  /// Runs `operation` as soon as the limits allow.
  ///
  /// Cancelling the returned promise removes the operation from the queue or, if it is running,
  /// cancels its promise; the operation then no longer counts. Operations with a higher `priority`
  /// start first.
  ///
  /// **Errors.** Those of `operation`; and while it waits, `CancellationError`,
  /// ``QueueFullError``, ``PromiseError/invalidArgument(_:)``, or, if the limiter is deallocated while
  /// it is paused, ``BrokenPromiseError``.
  ///
  /// **Execution.** `operation` runs in the isolation in which it was written.
  @inlinable
  public func run<T: Sendable>(
    priority: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> Promise<T>
  ) -> Promise<T> {
    submit(priority, SourceLocation(fileID: fileID, line: line), Placed(operation))
  }

  /// The same as `run(priority:_:)`, with `operation` on `executor`.
  @inlinable @_disfavoredOverload
  public func run<T: Sendable>(
    on executor: some PromiseExecutor, priority: Int = 0, fileID: StaticString = #fileID,
    line: UInt = #line, _ operation: @escaping @Sendable () throws -> Promise<T>
  ) -> Promise<T> {
    submit(
      priority, SourceLocation(fileID: fileID, line: line), Placed(operation, on: executor))
  }

  /// The same as `run(priority:_:)`, for a guarantee or a promise of another module.
  @_disfavoredOverload
  public func run<T: Thenable>(
    priority: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () throws -> T
  ) -> Promise<T.Value> {
    submit(
      priority, SourceLocation(fileID: fileID, line: line),
      Placed(operation).map { operation in { try operation().source } })
  }

  /// Runs an asynchronous `operation` as soon as the limits allow.
  ///
  /// Cancelling the returned promise rejects it immediately, and removes the operation from the
  /// queue or cancels its task. A cancelled operation counts as running until its task has ended.
  ///
  /// **Execution.** `operation` runs in its own task, in the isolation in which it was written.
  @_disfavoredOverload
  public func run<T: Sendable>(
    priority: Int = 0, fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async throws -> T
  ) -> Promise<T> {
    let waiter = TaskWaiter(priority: priority, SourceLocation(fileID: fileID, line: line))
    do {
      // In this call and not in the task, for the order of submission.
      if try submit(waiter) { waiter.start(in: self) }
    } catch {
      return .rejected(error, fileID: fileID, line: line)
    }
    let operation = IsolatedOperation(operation)
    // A task waits, because only a task can store its creator's task-local values and priority.
    let promise = Promise<T>(calling: operation, fileID: fileID, line: line) {
      let start = try await waiter.result.wait().newStart
      do {
        let value = try await operation()
        start.end(nil)
        return value
      } catch {
        start.end(error)
        throw error
      }
    }
    promise.cell.noteAwaiting(.limiter)
    promise.cell.onCancel { [weak self] in self?.withdraw(waiter) }
    return promise
  }

  /// Runs an asynchronous `operation` as soon as the limits allow, and returns its value.
  ///
  /// ```swift
  /// let page = try await limiter.perform { try await download(url) }
  /// ```
  ///
  /// Cancelling the calling task removes the operation from the queue, and this call throws
  /// `CancellationError` immediately. An operation that has started receives the cancellation.
  ///
  /// **Errors.** Those of `operation`; and while it waits, `CancellationError`,
  /// ``QueueFullError``, or ``PromiseError/invalidArgument(_:)``.
  ///
  /// **Execution.** `operation` runs in the calling task and in the caller's isolation.
  @inlinable
  nonisolated(nonsending) public func perform<T>(
    priority: Int = 0, _ operation: nonisolated(nonsending) () async throws -> T
  ) async throws -> T {
    if !enter() { try await wait(priority: priority) }
    let start = newStart
    do {
      let value = try await operation()
      start.end(nil)
      return value
    } catch {
      start.end(error)
      throw error
    }
  }
}
