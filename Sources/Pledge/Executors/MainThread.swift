import Dispatch

#if canImport(Darwin)
  import Darwin
#endif

enum MainThread {
  #if canImport(Darwin)
    /// Whether this is the process's main thread.
    static var isCurrent: Bool { pthread_main_np() != 0 }

    /// Whether `queue` is the main queue.
    static func isServed(by queue: DispatchQueue) -> Bool { queue === DispatchQueue.main }
  #else
    // Dispatch binds the main queue to the main thread when the process starts.
    private static var mark: Unmanaged<DispatchSpecificKey<Void>> {
      remembered(in: &mainMarkWord, mainMark)
    }

    private static let mainMark: DispatchSpecificKey<Void> = {
      let mark = DispatchSpecificKey<Void>()
      DispatchQueue.main.setSpecific(key: mark, value: ())
      return mark
    }()

    /// Whether this is the process's main thread.
    static var isCurrent: Bool {
      mark._withUnsafeGuaranteedRef { DispatchQueue.getSpecific(key: $0) != nil }
    }

    /// Whether `queue` is the main queue: there is a new object for it each time it is asked for.
    static func isServed(by queue: DispatchQueue) -> Bool {
      mark._withUnsafeGuaranteedRef { queue.getSpecific(key: $0) != nil }
    }
  #endif
}

#if !canImport(Darwin)
  /// Where the mark of the main queue lies.
  ///
  /// `nonisolated(unsafe)`: only touched atomically.
  @exclusivity(unchecked) nonisolated(unsafe) private var mainMarkWord: UInt = 0
#endif
