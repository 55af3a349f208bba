#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The clock that `ContinuousClock` reads, which needs macOS 13 and iOS 16.
package enum SystemClock {
  /// The number of nanoseconds since an arbitrary moment; it also advances while the system is
  /// suspended.
  package static var now: Int64 {
    #if canImport(Darwin)
      return Int64(clamping: clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW))
    #else
      var time = timespec()
      clock_gettime(CLOCK_BOOTTIME, &time)
      return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    #endif
  }
}
