import Pledge

#if canImport(Glibc)
  import Glibc

  /// The return addresses on a thread's call stack, innermost first.
  struct CallStack: Hashable, Sendable {
    let addresses: [UInt]
  }

  /// Captures call stacks.
  ///
  /// It uses the C library's `backtrace`, which reads only memory that the compiler's unwind tables
  /// describe. `Backtrace.capture(algorithm: .fast)` follows frame pointers, which are invalid in
  /// asynchronous frames: it reads invalid memory there and crashes the program.
  struct CallStackReader: Sendable {
    private typealias Function =
      @convention(c) (UnsafeMutablePointer<UnsafeMutableRawPointer?>, Int32) -> Int32

    /// The maximum number of callers to capture; the innermost ones belong to the library.
    private static let depth = 32

    private let function: Function

    /// Creates a reader; nil if the C library can't capture call stacks.
    init?() {
      // Looked up by name, because the C library's module doesn't contain its header.
      guard let symbol = dlsym(nil, "backtrace") else { return nil }
      function = unsafeBitCast(symbol, to: Function.self)
      // The first call loads the unwinder, so make it before the recording starts.
      _ = capture()
    }

    /// Returns the innermost callers; nil if the stack can't be read.
    func capture() -> CallStack? {
      withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer?.self, capacity: Self.depth) {
        guard let frames = $0.baseAddress else { return nil }
        frames.initialize(repeating: nil, count: Self.depth)
        // The first address is in this function.
        let addresses = $0.prefix(Int(function(frames, Int32(Self.depth)))).dropFirst()
        return CallStack(addresses: addresses.map { UInt(bitPattern: $0) })
      }
    }
  }
#else
  /// A thread's call stack, which is unknown on this platform.
  struct CallStack: Hashable, Sendable {}

  /// A reader of call stacks, which can't be created on this platform.
  struct CallStackReader: Sendable {
    init?() { nil }
    func capture() -> CallStack? { nil }
  }
#endif
