@_spi(DropIns) import Pledge

/// An object that logs ``LogEvent/pendingPromiseDeallocated`` when it is deallocated, unless it is
/// cancelled.
///
/// It is retained by the handlers that resolve a promise that, in PromiseKit, has its own resolver.
@usableFromInline
final class LossLog: Sendable {
  private let isCancelled = Atomic(false)

  @usableFromInline
  init() {}

  @usableFromInline
  func cancel() { isCancelled.store(true, ordering: .releasing) }

  deinit {
    if !isCancelled.load(ordering: .acquiring) { conf.logHandler(.pendingPromiseDeallocated) }
  }
}
