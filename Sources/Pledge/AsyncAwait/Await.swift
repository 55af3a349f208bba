import Synchronization

extension Promise {
  /// The value, once it is there; throws the error if the promise is rejected.
  ///
  /// No thread is blocked, and a settled promise is read without suspending. Cancelling the task
  /// abandons the wait at once with `CancellationError`; that counts as this consumer's
  /// cancellation, so a promise that nobody else waits for is cancelled. The error counts as
  /// handled.
  @inlinable
  public var value: Value {
    get async throws {
      let root = cell.visibleRoot
      if root.isSettledRoot { return try root.handledResult().get() }
      return try await waitForSettlement().get()
    }
  }

  /// The outcome, once it is there.
  ///
  /// Cancelling the task abandons the wait at once: the outcome is then `CancellationError`.
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

  @usableFromInline
  func waitForSettlement() async -> Result<Value, any Error> {
    let waiter = Waiter()
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        waiter.wait(on: cell) { source in
          continuation.resume(returning: source.handledResult())
        }
      }
    } onCancel: {
      waiter.abandon()
    }
  }
}

extension Guarantee {
  /// The value, once it is there.
  ///
  /// There is no way to tell of a guarantee that was broken (its resolver dropped, or all that came
  /// of it cancelled before): that is a mistake in the program, and stops it with a message that
  /// says so. Cancelling the task does not end the wait.
  @inlinable
  public var value: Value {
    get async {
      let root = cell.visibleRoot
      if root.isSettledRoot, root.rejection == nil { return root.value(as: Value.self) }
      return await waitForFulfillment()
    }
  }

  @usableFromInline
  func waitForFulfillment() async -> Value {
    await withUnsafeContinuation { continuation in
      Waiter().wait(on: cell) { source in
        if let rejection = source.rejection {
          rejection.markHandled()
          fatalError("Pledge: waited for a guarantee that was broken: \(rejection.error)")
        }
        continuation.resume(returning: source.value(as: Value.self))
      }
    }
  }
}

/// A task's wait for a promise, which it may abandon.
private final class Waiter: Sendable {
  private enum State {
    case idle
    case waiting(Handler)
    case abandoned
  }

  private let state = Mutex(State.idle)

  func wait(on cell: Cell, _ resume: @escaping @Sendable (Cell) -> Void) {
    let handler = Handler(
      input: 0, source: cell, target: nil, body: nil, run: { _, source in resume(source) })
    // Attached first: a handler can be taken back only once it is in its place.
    cell.attach(handler)
    let wasAbandoned = state.withLock { state in
      if case .abandoned = state { return true }
      state = .waiting(handler)
      return false
    }
    if wasAbandoned { handler.withdraw() }
  }

  func abandon() {
    let handler: Handler? = state.withLock { state in
      defer { state = .abandoned }
      if case .waiting(let handler) = state { return handler }
      return nil
    }
    handler?.withdraw()
  }
}

extension Promise {
  /// Makes a promise with the outcome of an asynchronous `operation`.
  ///
  /// The operation runs in a new task, in the isolation in which it was written. Cancelling the
  /// promise cancels the task and rejects the promise with `CancellationError`.
  public init(
    priority: TaskPriority? = nil, fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation:
      @escaping @Sendable @isolated(any) () async throws -> Value
  ) {
    let (promise, resolver) = Promise.withResolvers(fileID: fileID, line: line)
    let task = Task(priority: priority) {
      do {
        resolver.fulfill(try await operation())
      } catch {
        resolver.reject(error)
      }
    }
    promise.cell.onCancel { [cell = promise.cell] in
      // First the promise: the task may be quick to end, and with a value.
      cell.reject(Rejection.cancellation())
      task.cancel()
    }
    self = promise
  }
}

extension Guarantee {
  /// Makes a guarantee with the value of an asynchronous `operation` that does not throw.
  ///
  /// The operation runs in a new task, in the isolation in which it was written.
  public init(
    priority: TaskPriority? = nil, fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ operation: @escaping @Sendable @isolated(any) () async -> Value
  ) {
    let promise = Promise<Value>(priority: priority, fileID: fileID, line: line) {
      await operation()
    }
    self = Guarantee(cell: promise.cell)
  }
}
