import Dispatch
import Pledge

/// Where a handler with these arguments runs: on a queue, or in place if there is none.
///
/// A queue is visited once for each handler. Pledge would run several handlers in one visit. Here
/// what the program itself submits to the queue keeps its place between them, and a handler on a
/// concurrent queue may block until others on that queue have run.
@inlinable
func place(_ queue: DispatchQueue?, _ flags: DispatchWorkItemFlags?) -> QueueExecutor {
  QueueExecutor(queue, flags: flags ?? [])
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
