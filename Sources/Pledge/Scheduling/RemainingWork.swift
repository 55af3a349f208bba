/// Work that can outlast the promise that it was for.
///
/// Cancellation rejects a promise immediately, but a task ends only when its operation responds, and
/// a cleanup isn't cancelled. The rejection names such work, for code that waits for its end.
@usableFromInline
enum RemainingWork: Sendable {
  case task(Task<Void, Never>)
  /// A cell, and what remains when it has been rejected.
  case promise(Job)
}
