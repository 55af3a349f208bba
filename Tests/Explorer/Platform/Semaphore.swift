import Exploration

/// A semaphore whose waiting threads are known to the scheduler.
struct ThreadSemaphore: Sendable {
  private let semaphore = VirtualSemaphore(value: 0)

  func signal() { semaphore.signal() }
  func wait() { _ = semaphore.wait() }
  func wait(milliseconds: Int) -> Bool {
    semaphore.wait(limit: UInt64(max(milliseconds, 0)) * 1_000_000)
  }
}
