import Pledge

#if canImport(Glibc)
  import Glibc

  /// The functions that were under way on a thread, as return addresses, the innermost first.
  struct CallStack: Hashable, Sendable {
    let addresses: [UInt]
  }

  /// Captures call stacks.
  ///
  /// By the C library's `backtrace`, which reads nothing but what the compiler's unwind tables
  /// describe. `Backtrace.capture(algorithm: .fast)` follows frame pointers, which lead nowhere in
  /// asynchronous frames: it reads invalid memory there and ends the program.
  struct CallStackReader: Sendable {
    private typealias Function =
      @convention(c) (UnsafeMutablePointer<UnsafeMutableRawPointer?>, Int32) -> Int32

    /// How many callers are of interest; the library's own come first.
    private static let depth = 32

    private let function: Function

    /// Nil where the C library cannot capture call stacks.
    init?() {
      // By name, as the C library's module leaves out its header.
      guard let symbol = dlsym(nil, "backtrace") else { return nil }
      function = unsafeBitCast(symbol, to: Function.self)
      // The first call loads the unwinder, which is better done before the program is watched.
      _ = capture()
    }

    /// The innermost callers; nil if the stack cannot be read.
    func capture() -> CallStack? {
      withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer?.self, capacity: Self.depth) {
        guard let frames = $0.baseAddress else { return nil }
        frames.initialize(repeating: nil, count: Self.depth)
        // The first function is this one.
        let addresses = $0.prefix(Int(function(frames, Int32(Self.depth)))).dropFirst()
        return CallStack(addresses: addresses.map { UInt(bitPattern: $0) })
      }
    }
  }
#else
  /// The functions that were under way on a thread: not known on this platform.
  struct CallStack: Hashable, Sendable {}

  /// Captures call stacks: not on this platform.
  struct CallStackReader: Sendable {
    init?() { nil }
    func capture() -> CallStack? { nil }
  }
#endif
