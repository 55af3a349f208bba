import Dispatch

/// A semaphore that blocks the calling thread.
struct ThreadSemaphore: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func signal() { semaphore.signal() }
  func wait() { semaphore.wait() }

  /// Waits for at most `milliseconds`; returns false on timeout.
  func wait(milliseconds: Int) -> Bool {
    semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
  }
}
