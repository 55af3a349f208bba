import Foundation

private let waitingQueue = DispatchQueue(
  label: "com.google.FBLPromises.Await", attributes: .concurrent)

/// Blocks the calling thread until `promise` is resolved; returns the value or throws the error.
///
/// Never returns if the promise needs a handler to run on the queue or thread that is blocked.
///
/// - Parameter promise: The promise to wait for.
/// - Returns: The value.
public func awaitPromise<Value>(_ promise: Promise<Value>) throws -> Value {
  let semaphore = DispatchSemaphore(value: 0)
  var outcome: Swift.Result<Value, any Error>?
  promise.observe(on: waitingQueue) {
    outcome = $0
    semaphore.signal()
  }
  semaphore.wait()
  guard let outcome else { preconditionFailure("Woken before the promise was resolved") }
  return delivered(try outcome.get())
}

/// Waits until no promise is pending and no handler is queued.
///
/// Runs the run loop of the calling thread while it waits, so that handlers on the main queue get their
/// turn when it is the main thread that waits.
///
/// - Parameter timeout: How many seconds to wait at the most.
/// - Returns: Whether it came to that before the time was up.
func waitForPromises(timeout: TimeInterval) -> Bool {
  let step = 0.01
  // The main thread has handlers of its own to run: it only looks.
  let pause = Thread.isMainThread ? 0 : step
  let end = Date(timeIntervalSinceNow: timeout)
  repeat {
    if DispatchGroup.promises.wait(timeout: .now() + pause) == .success { return true }
    RunLoop.current.run(until: Date(timeIntervalSinceNow: step))
  } while Date() < end
  return false
}
