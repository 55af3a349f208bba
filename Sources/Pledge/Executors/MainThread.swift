import Dispatch

#if canImport(Darwin)
  import Darwin
#endif

enum MainThread {
  #if canImport(Darwin)
    /// Whether this is the process's main thread.
    static var isCurrent: Bool { pthread_main_np() != 0 }
  #else
    // Dispatch binds the main queue to the main thread when the process starts.
    private static let mark: DispatchSpecificKey<Void> = {
      let mark = DispatchSpecificKey<Void>()
      DispatchQueue.main.setSpecific(key: mark, value: ())
      return mark
    }()

    /// Whether this is the process's main thread.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: mark) != nil }
  #endif
}
