import Dispatch

/// A semaphore that blocks the calling thread.
struct ThreadSemaphore: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func signal() { semaphore.signal() }
  func wait() { semaphore.wait() }

  /// Waits for a limited time; false if the time has passed.
  func wait(milliseconds: Int) -> Bool {
    semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
  }
}
