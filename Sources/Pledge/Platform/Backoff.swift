#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Waits for another thread to execute a few instructions.
struct Backoff {
  private var rounds = 0

  mutating func wait() {
    rounds += 1
    if rounds > 200 {
      // The other thread might have a lower priority, so this thread must sleep.
      usleep(50)
    } else if rounds > 10 {
      sched_yield()
    }
  }
}
