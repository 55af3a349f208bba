import VirtualPlatform

/// A semaphore whose waiting threads are known to the scheduler.
struct ThreadSemaphore: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func signal() { semaphore.signal() }
  func wait() { semaphore.wait() }
  func wait(milliseconds: Int) -> Bool {
    semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
  }
}
