// Apple's Runtime module has this from macOS 26 on, which is above the package's floor.
#if canImport(Runtime) && !canImport(Darwin)
  import Runtime

  /// The functions that were under way on a thread, as return addresses.
  struct CallStack: Hashable, Sendable {
    let backtrace: Backtrace
    let addresses: [Backtrace.Address]

    init(_ backtrace: Backtrace) {
      self.backtrace = backtrace
      addresses = backtrace.frames.map(\.originalProgramCounter)
    }

    static func == (first: CallStack, second: CallStack) -> Bool {
      first.addresses == second.addresses
    }

    func hash(into hasher: inout Hasher) { hasher.combine(addresses) }
  }

  /// Captures call stacks.
  struct CallStackReader: Sendable {
    /// The images of the process, looked up once as that takes long; code that is loaded later
    /// has no place.
    private let images = ImageMap.capture()

    /// The innermost callers; nil if the stack cannot be read.
    func capture() -> CallStack? {
      // A stack that cannot be walked only costs the report a place.
      guard
        let backtrace = try? Backtrace.capture(
          algorithm: .fast, limit: 24, offset: 2, top: 0, images: images)
      else { return nil }
      return CallStack(backtrace)
    }
  }
#else
  /// The functions that were under way on a thread: not known on this platform.
  struct CallStack: Hashable, Sendable {}

  /// Captures call stacks: not on this platform.
  struct CallStackReader: Sendable {
    func capture() -> CallStack? { nil }
  }
#endif
