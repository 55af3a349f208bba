extension Promise {
  /// The value, when the promise is fulfilled; throws the error if it is rejected.
  ///
  /// This doesn't block a thread, and reads a settled promise without suspending. Cancelling the
  /// task ends the wait immediately with `CancellationError`, and cancels the promise if it has no
  /// other consumer. The error counts as handled. If the promise is abandoned (see
  /// ``UnmanagedResolver/abandon()``), the error is ``BrokenPromiseError``.
  @inlinable
  public var value: Value {
    get async throws {
      if let isHandler = cell.hasHandlerValue {
        return cell.value(as: Value.self, isHandler: isHandler)
      }
      return try await waitForSettlement().get()
    }
  }

  /// The result, when the promise has settled.
  ///
  /// Cancelling the task ends the wait immediately: the result is then `CancellationError`.
  @inlinable
  public var result: Result<Value, any Error> {
    get async {
      do {
        return .success(try await value)
      } catch {
        return .failure(error)
      }
    }
  }

  /// Waits for the result.
  ///
  /// This isn't `nonsending`, so that `value` reads a settled promise without a switch of executors.
  @usableFromInline
  func waitForSettlement() async -> Result<Value, any Error> { await waitForSettlement {} }

  /// Waits for the result; calls `start` when the task is about to suspend.
  @usableFromInline
  nonisolated(nonsending) func waitForSettlement(
    _ start: () -> Void
  ) async -> Result<Value, any Error> {
    if cell.isSettled { return cell.handledResult() }
    let waiter = Waiter()
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        waiter.wait(on: cell) { source in
          continuation.resume(returning: source.handledResult())
        }
        start()
      }
    } onCancel: {
      waiter.giveUp()
    }
  }
}

extension Guarantee {
  /// The value, when the guarantee is fulfilled.
  ///
  /// Like `Task<Value, Never>.value`, this can't throw, and cancelling the task doesn't end the
  /// wait. A broken guarantee (its resolver was dropped, or all its consumers were cancelled
  /// earlier) has no value: the task stays suspended, and ``PromiseDiagnostics`` reports a
  /// ``BrokenPromiseError``. If that can happen, use `try await guarantee.promise.value`, which
  /// throws.
  @inlinable
  public var value: Value {
    get async {
      if cell.isSettled, cell.rejection == nil { return cell.value(as: Value.self) }
      return await waitForFulfillment()
    }
  }

  @usableFromInline
  func waitForFulfillment() async -> Value {
    await withUnsafeContinuation { continuation in
      Waiter().wait(on: cell) { source in
        if let rejection = source.rejection {
          // There is no value to return, so the task stays suspended. This is reported, as leaked
          // continuations are.
          rejection.markHandled()
          return UnhandledRejections.report(
            BrokenPromiseError(breakingGuarantee: rejection), rejection.origin,
            id: rejection.root.address)
        }
        continuation.resume(returning: source.value(as: Value.self))
      }
    }
  }
}

/// A task's wait for a promise, which cancellation of the task ends.
private final class Waiter: Sendable {
  private enum State {
    case idle
    case waiting(Handler)
    case givenUp
  }

  private let state = Mutex(State.idle)

  func wait(on cell: Cell, _ resume: @escaping @Sendable (Cell) -> Void) {
    let handler = Handler(
      .observer, of: cell, on: .inPlace, body: nil,
      run: { _, source in resume(source) })
    // Attached first, because an observer can be removed only after it is attached.
    cell.attach(handler)
    let wasGivenUp = state.withLock { state in
      if case .givenUp = state { return true }
      state = .waiting(handler)
      return false
    }
    if wasGivenUp { handler.leave(.cancelled) }
  }

  func giveUp() {
    let handler: Handler? = state.withLock { state in
      defer { state = .givenUp }
      if case .waiting(let handler) = state { return handler }
      return nil
    }
    handler?.leave(.cancelled)
  }
}

extension Promise {
  /// Creates a promise for the result of an asynchronous `operation`.
  ///
  /// The operation runs in a new task, in the isolation in which it was written. Cancelling the
  /// promise cancels the task and rejects the promise with `CancellationError`.
  public init(
    priority: TaskPriority? = nil, fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation:
      @escaping @Sendable @isolated(any) () async throws -> Value
  ) {
    let (promise, resolver) = Promise.withResolvers(fileID: fileID, line: line)
    let isolation = operation.isolation
    resolver.settleWithTask(priority: priority, operation)
    if let isolation { promise.cell.noteProducer(.closure(HandlerTarget(isolation: isolation))) }
    self = promise
  }
}

extension Promise {
  /// Returns a promise for the result of a task that runs `operation`.
  @usableFromInline
  static func running(_ operation: AsyncOperation<Value>) -> Promise {
    let (promise, resolver) = Promise.withResolvers()
    resolver.settleWithTask(operation)
    return promise
  }
}

extension Resolver {
  /// Starts a task that runs `operation` and settles the promise with its result; cancelling the
  /// promise cancels the task.
  func settleWithTask(
    priority: TaskPriority? = nil,
    _ operation: @escaping @Sendable @isolated(any) () async throws -> Value
  ) {
    settleWithTask(priority: priority, AsyncOperation(sendable: operation))
  }

  /// Starts a task that runs `operation` and settles the promise with its result; cancelling the
  /// promise cancels the task.
  func settleWithTask(priority: TaskPriority? = nil, _ operation: AsyncOperation<Value>) {
    cancelling(
      Task(priority: priority) { _ = settle(await operation.run().map { $0.value }) })
  }

  /// Cancels `task`, which calls `settle(_:)`, when the promise is cancelled.
  func cancelling(_ task: Task<Void, Never>) { cell.onCancel { RemainingWork.cancel(task) } }

  /// Settles the promise with the result of its task, unless it is settled, or was cancelled: the
  /// task can end while the thread that cancels it finds out what else that leaves.
  ///
  /// - Returns: Whether this call settled the promise.
  @discardableResult
  func settle(_ result: Result<Value, any Error>) -> Bool {
    switch result {
    case .success(let value): cell.fulfill(value, unlessCancelled: true)
    case .failure(let error):
      cell.reject(Rejection(error, origin: origin), unlessCancelled: true)
    }
  }
}

/// An asynchronous closure that is called once, and released in its isolation.
///
/// `@unchecked Sendable`: only `run` or `discard`, one of which is called once, accesses `operation`.
@_fixed_layout @usableFromInline
final class AsyncOperation<Value>: @unchecked Sendable {
  /// A struct, because an optional closure of this type needs the runtime of macOS 15.
  @frozen @usableFromInline
  struct Operation {
    @usableFromInline let body: @isolated(any) () async throws -> sending Value

    @inlinable
    init(_ body: sending @escaping @isolated(any) () async throws -> sending Value) {
      self.body = body
    }
  }

  private struct SendableOperation {
    let body: @Sendable @isolated(any) () async throws -> Value
  }

  @exclusivity(unchecked) @usableFromInline var operation: Operation?

  /// Creates an operation whose value is sendable, which makes no difference to the closure.
  init(sendable operation: @escaping @Sendable @isolated(any) () async throws -> Value)
  where Value: Sendable {
    self.operation = unsafeBitCast(SendableOperation(body: operation), to: Operation.self)
  }

  @inlinable
  init(_ operation: sending @escaping @isolated(any) () async throws -> sending Value) {
    self.operation = Operation(operation)
  }

  /// The isolation of the operation; read before `run`.
  @inlinable
  var isolation: (any Actor)? { operation?.body.isolation }

  /// Runs the operation in its isolation.
  @inlinable @inline(__always)
  nonisolated(nonsending) func run() async -> Result<Moved<Value>, any Error> {
    if let isolation { return await run(isolation: isolation) }
    // Without a switch to the global executor, on which the task runs.
    defer { operation = nil }
    do {
      return .success(Moved(try await operation.unsafelyUnwrapped.body()))
    } catch {
      return .failure(error)
    }
  }

  /// Releases the operation, which isn't called, in its isolation.
  @usableFromInline
  func discard(isolation: isolated (any Actor)?) async { operation = nil }

  @inlinable
  func run(isolation: isolated (any Actor)?) async -> Result<Moved<Value>, any Error> {
    // The closure's captures, and their `deinit`, can be isolated to the actor.
    defer { operation = nil }
    do {
      return .success(Moved(try await operation.unsafelyUnwrapped.body()))
    } catch {
      return .failure(error)
    }
  }
}

extension Guarantee {
  /// Creates a guarantee for the value of an asynchronous `operation` that doesn't throw.
  ///
  /// The operation runs in a new task, in the isolation in which it was written.
  public init(
    priority: TaskPriority? = nil, fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async -> Value
  ) {
    let promise = Promise<Value>(priority: priority, fileID: fileID, line: line, operation)
    self = Guarantee(cell: promise.cell)
  }
}

extension BrokenPromiseError {
  /// Creates the error to report when a task awaits the value of a guarantee that was broken with
  /// `rejection`.
  init(breakingGuarantee rejection: Rejection) {
    if let error = rejection.error as? BrokenPromiseError {
      self = error
    } else {
      self.init(origin: rejection.origin, reason: .guaranteeCancelled)
    }
  }
}
