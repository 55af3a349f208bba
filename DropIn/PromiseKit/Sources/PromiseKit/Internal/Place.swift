import Dispatch
import Pledge

/// Returns the executor for a handler with these arguments: the queue, or in place if it's nil.
///
/// Each handler is enqueued separately, whereas Pledge would run several handlers in one turn. Work
/// that user code enqueues therefore keeps its position between them, and a handler on a concurrent
/// queue can block until others on that queue have run.
@inlinable
func place(_ queue: DispatchQueue?, _ flags: DispatchWorkItemFlags?) -> QueueExecutor {
  QueueExecutor(queue, flags: flags ?? [])
}

extension Optional where Wrapped: DispatchQueue {
  /// Runs `body` on the queue, or in place if there is none.
  func async(flags: DispatchWorkItemFlags?, _ body: @escaping () -> Void) {
    nonisolated(unsafe) let body = body
    switch self {
    case nil: body()
    case .some(let queue):
      if let flags { queue.async(flags: flags) { body() } } else { queue.async { body() } }
    }
  }
}
