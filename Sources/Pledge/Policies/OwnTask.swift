// The parts of policies that can't run in the caller's task: those that are cancelled while the
// caller isn't. The caller waits for the end of the task, so that its closure, which isn't
// `Sendable`, runs while the caller doesn't, in the caller's isolation.

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
