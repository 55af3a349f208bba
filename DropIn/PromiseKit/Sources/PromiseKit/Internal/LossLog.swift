import Pledge

/// Logs ``LogEvent/pendingPromiseDeallocated`` when it goes away without having been cancelled.
///
/// Held by the handlers that will resolve a promise which, in PromiseKit, has a resolver of its own.
@usableFromInline
final class LossLog: Sendable {
  private let isCancelled = _Atomic<Bool>(false)

  @usableFromInline
  init() {}

  @usableFromInline
  func cancel() { isCancelled.store(true, ordering: .releasing) }

  deinit {
    if !isCancelled.load(ordering: .acquiring) { conf.logHandler(.pendingPromiseDeallocated) }
  }
}
