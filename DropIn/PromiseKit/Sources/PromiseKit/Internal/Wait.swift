import Foundation
@_spi(DropIns) import Pledge

extension Thenable {
  /// Blocks the calling thread until the thenable is resolved.
  @usableFromInline
  func waitForResult() -> Result<T> {
    if Thread.isMainThread { conf.logHandler(.waitOnMainThread) }
    if let result { return result }
    // The handlers in place that this thread has deferred run when its stack unwinds, and the
    // thenable may need one of them.
    ImmediateExecutor.runDeferredHandlers()
    if let result { return result }
    let group = DispatchGroup()
    group.enter()
    nonisolated(unsafe) var outcome: Result<T>?
    pipe {
      outcome = $0
      group.leave()
    }
    group.wait()
    guard let outcome else { fatalError("PromiseKit: a thenable called back without a result") }
    return outcome
  }
}
