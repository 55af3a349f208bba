import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

enum MainThread {
  #if canImport(Darwin)
    /// Whether this is the process's main thread.
    static var isCurrent: Bool { pthread_main_np() != 0 }

    /// Returns whether `queue` is the main queue.
    static func isServed(by queue: DispatchQueue) -> Bool { queue === DispatchQueue.main }
  #else
    /// Whether this thread serves the main queue.
    ///
    /// That is the first thread, whose thread ID is the process ID, even while it runs a block of
    /// another queue; or, after `dispatchMain()`, any thread that Dispatch chooses.
    static var isCurrent: Bool {
      threadNumber() == getpid()
        || mark._withUnsafeGuaranteedRef { DispatchQueue.getSpecific(key: $0) != nil }
    }

    /// Returns whether `queue` is the main queue, for which Dispatch returns a new object each
    /// time.
    static func isServed(by queue: DispatchQueue) -> Bool {
      mark._withUnsafeGuaranteedRef { queue.getSpecific(key: $0) != nil }
    }

    private static var mark: Unmanaged<DispatchSpecificKey<Void>> {
      cached(in: &mainMarkWord, mainMark)
    }

    private static let mainMark: DispatchSpecificKey<Void> = {
      let mark = DispatchSpecificKey<Void>()
      DispatchQueue.main.setSpecific(key: mark, value: ())
      return mark
    }()
  #endif
}

#if !canImport(Darwin)
  /// `gettid` of the C library, which the Glibc module hides behind a feature macro.
  @_silgen_name("gettid") private func threadNumber() -> Int32

  /// The cached address of the main queue's mark.
  ///
  /// `nonisolated(unsafe)`: only accessed atomically.
  @exclusivity(unchecked) nonisolated(unsafe) private var mainMarkWord: UInt64 = 0
#endif
