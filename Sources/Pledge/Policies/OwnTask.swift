// The parts of policies that can't run in the caller's task: those that are cancelled while the
// caller isn't.

/// Runs `operation` in a task that this call leaves behind when `span` has passed.
@inlinable
nonisolated(nonsending) func limited<Value>(
  _ span: TimeSpan, _ time: TimeSource, _ operation: AsyncOperation<Value>
) async throws -> Moved<Value> {
  let call = LimitedCall<Moved<Value>?>()
  try await withTaskCancellationHandler {
    let timer = call.start(span, time) {
      // At the present priority of the calling task, which an urgent one perhaps has raised.
      Task(priority: Task.currentPriority) {
        switch await operation.run() {
        case .success(let value):
          call.value = value
          call.end(nil)
        case .failure(let error): call.end(error)
        }
      }
    }
    defer { withExtendedLifetime(timer) {} }
    try await call.wait()
  } onCancel: {
    call.leave(CancellationError())
  }
  return call.value.unsafelyUnwrapped
}

/// A task whose caller waits until it ends, its time limit has passed, or the caller is cancelled.
///
/// `@unchecked Sendable`: `task` is guarded by the lock of `result`.
@usableFromInline
class LimitedTask: @unchecked Sendable {
  private let result = FirstResult<Void>()
  private final var task: Task<Void, Never>?

  @usableFromInline init() {}

  /// Starts the task, unless the caller has left, and returns the timer of its time limit.
  @usableFromInline
  final func start(
    _ span: TimeSpan, _ time: TimeSource, _ start: () -> Task<Void, Never>
  ) -> (any AnyObject & Sendable)? {
    // Created under the lock, so that a thread that cancels the caller finds it, or there is none.
    guard result.whileMissing({ task = start() }) else { return nil }
    if span > .zero { return time.startTimer(after: span) { [self] in leave(TimeoutError(span)) } }
    leave(TimeoutError(span))
    return nil
  }

  @usableFromInline
  final nonisolated(nonsending) func wait() async throws { try await result.wait() }

  /// Ends the task, which failed with `error` unless that is nil.
  @usableFromInline
  final func end(_ error: (any Error)?) {
    result.settle(with: error.map { .failure($0) } ?? .success(()))
  }

  /// Ends the wait of the caller, and cancels the task, which can take longer.
  @usableFromInline
  final func leave(_ error: any Error) {
    result.settle(with: .failure(error)) { task.map(RemainingWork.cancel) }
  }
}

/// A task with a value, which is written before its end, and read after that.
///
/// `Storage` is `Moved<Value>?`, as in `Root`.
@_fixed_layout @usableFromInline
final class LimitedCall<Storage>: LimitedTask, @unchecked Sendable {
  @exclusivity(unchecked) @usableFromInline var value: Storage

  @inlinable
  init<Value>() where Storage == Value? {
    value = nil
    super.init()
  }
}

/// The first of several results, for the task that waits for it.
struct FirstResult<Value: Sendable>: ~Copyable, Sendable {
  /// Not private: the compiler crashes, because another file stores it.
  enum State {
    case missing
    case awaited(UnsafeContinuation<Value, any Error>)
    case known(Result<Value, any Error>)
  }

  private let state = Mutex(State.missing)

  /// Calls `body` under the lock, unless there is a result; returns whether it did.
  func whileMissing(_ body: () -> Void) -> Bool {
    state.withLock { state in
      if case .known = state { return false }
      body()
      return true
    }
  }

  /// Stores `result`, unless there is one already, calls `prepare`, and continues the task that waits.
  func settle(with result: Result<Value, any Error>, _ prepare: () -> Void = {}) {
    let continuation: UnsafeContinuation<Value, any Error>?? = state.withLock { state in
      switch state {
      case .known: return nil
      case .missing:
        state = .known(result)
        return .some(nil)
      case .awaited(let continuation):
        state = .known(result)
        return continuation
      }
    }
    guard let continuation else { return }
    prepare()
    continuation?.resume(with: result)
  }

  nonisolated(nonsending) func wait() async throws -> Value {
    try await withUnsafeThrowingContinuation { continuation in
      let result: Result<Value, any Error>? = state.withLock { state in
        if case .known(let result) = state { return result }
        state = .awaited(continuation)
        return nil
      }
      if let result { continuation.resume(with: result) }
    }
  }
}

// The caller waits for the end of the following tasks, so that the closure, which isn't `Sendable`,
// runs while the caller doesn't, in the caller's isolation.

/// A closure that runs in another task while its owner waits.
///
/// `@unchecked Sendable`: only `run`, which is called once, accesses `stored`, while the owner waits
/// for its end.
private final class MovedOperation<Value, Failure: Error>: @unchecked Sendable {
  typealias Body = nonisolated(nonsending) () async throws(Failure) -> Value

  /// A struct, because an optional closure of this type needs the runtime of macOS 15.
  private struct Stored {
    let body: Body
  }

  private var stored: Stored?
  let hasTimedOut = AtomicFlag(false)

  init(_ body: @escaping Body) { stored = Stored(body: body) }

  func run(isolation: isolated (any Actor)?) async throws(Failure) -> Moved<Value> {
    // Released before the task ends: the closure must not outlive the owner's call.
    let stored = exchange(&stored, with: nil).unsafelyUnwrapped
    return Moved(try await stored.body())
  }

  func timeOut(_ task: Task<Moved<Value>, Failure>) {
    hasTimedOut.store(true, ordering: .releasing)
    // Cancellation handlers are user code.
    task.cancel()
  }
}

/// Runs `operation` in a separate task with the caller's task-local values, priority, and
/// isolation, and waits for its end.
///
/// The task is cancelled with the calling one, and when the limit has passed: if it fails after
/// that, this throws ``TimeoutError``.
func withOwnTask<Value>(
  limit: RetryProgress.Limit, _ time: TimeSource, isolation: isolated (any Actor)?,
  _ operation: nonisolated(nonsending) () async throws -> Value
) async throws -> Value {
  try await withoutActuallyEscaping(operation) { operation in
    let operation = MovedOperation(operation)
    let task = Task { try await operation.run(isolation: isolation) }
    var timer: (any AnyObject & Sendable)?
    if limit.span > .zero {
      timer = time.startTimer(after: limit.span) { operation.timeOut(task) }
    } else {
      operation.timeOut(task)
    }
    defer { withExtendedLifetime(timer) {} }
    do {
      return try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }.value
    } catch {
      if operation.hasTimedOut.load(ordering: .acquiring) { throw TimeoutError(limit.named) }
      throw error
    }
  }
}

/// Runs `operation`, which cancellation of the calling task doesn't reach, and waits for its end.
///
/// It has the caller's task-local values, priority, and isolation.
func withoutCancellation<Value>(
  isolation: isolated (any Actor)?, _ operation: nonisolated(nonsending) () async -> Value
) async -> Value {
  await withoutActuallyEscaping(operation) { operation in
    let operation = MovedOperation(operation)
    return await Task { await operation.run(isolation: isolation) }.value.value
  }
}
