import Dispatch
import Pledge

/// Where a handler runs: on a queue, or in place if there is none.
///
/// A queue is visited once for each handler. Pledge would run several handlers in one visit. Here
/// what the program itself submits to the queue keeps its place between them, and a handler on a
/// concurrent queue may block until others on that queue have run.
@usableFromInline
struct Place: PromiseExecutor {
  @usableFromInline let hop: Hop?

  @usableFromInline
  func enqueue(_ job: PromiseJob) {
    guard let hop else { return job.run() }
    hop.enqueue(job)
  }

  /// The engine's own way to run handlers in place, where that is wanted.
  @usableFromInline var _target: _HandlerTarget {
    hop?._target ?? ImmediateExecutor.immediate._target
  }
}

/// One visit of a queue for each job.
///
/// `@unchecked Sendable`: both are immutable; the flags are a number.
@usableFromInline
struct Hop: PromiseExecutor, @unchecked Sendable {
  let queue: DispatchQueue
  let flags: DispatchWorkItemFlags?

  @usableFromInline
  func enqueue(_ job: PromiseJob) {
    queue.async(flags: flags ?? []) { job.run() }
  }
}

/// Where a handler with these arguments runs.
@usableFromInline
func place(_ queue: DispatchQueue?, _ flags: DispatchWorkItemFlags?) -> Place {
  Place(hop: queue.map { Hop(queue: $0, flags: flags) })
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
