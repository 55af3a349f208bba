import Dispatch
import Pledge

/// Where a handler with these arguments runs.
@usableFromInline
func place(_ queue: DispatchQueue?, _ flags: DispatchWorkItemFlags?) -> any PromiseExecutor {
  guard let queue else { return ImmediateExecutor.immediate }
  return HopExecutor(queue: queue, flags: flags)
}

/// A queue that is visited once for each handler.
///
/// Pledge would run several handlers in one visit. Here what the program itself submits to the queue
/// keeps its place between them, and a handler on a concurrent queue may block until others on that
/// queue have run.
///
/// `@unchecked Sendable`: both are immutable; the flags are a number.
private struct HopExecutor: PromiseExecutor, @unchecked Sendable {
  let queue: DispatchQueue
  let flags: DispatchWorkItemFlags?

  func enqueue(_ job: PromiseJob) {
    queue.async(flags: flags ?? []) { job.run() }
  }
}

extension Optional where Wrapped: DispatchQueue {
  /// Runs `body` in place if there is no queue.
  func async(flags: DispatchWorkItemFlags?, _ body: @escaping () -> Void) {
    nonisolated(unsafe) let body = body
    switch self {
    case nil:
      body()
    case .some(let queue):
      if let flags {
        queue.async(flags: flags) { body() }
      } else {
        queue.async { body() }
      }
    }
  }
}
