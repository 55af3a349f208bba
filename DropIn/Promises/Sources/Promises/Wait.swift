import Foundation
@_spi(DropIns) import Pledge

private let waitingQueue = DispatchQueue(
  label: "com.google.FBLPromises.Await", attributes: .concurrent)

/// Blocks the calling thread until `promise` is resolved, and returns its value or throws its
/// error.
///
/// It never returns if the promise needs a handler on the blocked queue or thread.
public func awaitPromise<Value>(_ promise: Promise<Value>) throws -> Value {
  let semaphore = DispatchSemaphore(value: 0)
  var outcome: Swift.Result<Value, any Error>?
  promise.observe(on: waitingQueue) {
    outcome = $0
    semaphore.signal()
  }
  // In a handler in place of Pledge or PromiseKit, the promise can need one that this thread has
  // deferred.
  ImmediateExecutor.runDeferredHandlers()
  semaphore.wait()
  guard let outcome else { preconditionFailure("Woken before the promise was resolved") }
  return delivered(try outcome.get())
}

/// Waits until no promise is pending and no handler is queued; returns false after `timeout` seconds.
///
/// It runs the run loop of the calling thread while it waits, so handlers on the main queue can run
/// while the main thread waits.
func waitForPromises(timeout: TimeInterval) -> Bool {
  let step = 0.01
  // The main thread has to run handlers, so it doesn't block.
  let pause = Thread.isMainThread ? 0 : step
  let end = Date(timeIntervalSinceNow: timeout)
  repeat {
    if DispatchGroup.promises.wait(timeout: .now() + pause) == .success { return true }
    RunLoop.current.run(until: Date(timeIntervalSinceNow: step))
  } while Date() < end
  return false
}
