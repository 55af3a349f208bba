import Pledge

// Apple's Runtime module has this from macOS 26 on, which is above the package's floor.
#if canImport(Runtime) && !canImport(Darwin)
  import Runtime

  /// The functions that were under way on a thread, as return addresses, the innermost first.
  struct CallStack: Hashable, Sendable {
    let addresses: [Backtrace.Address]
  }

  /// Captures call stacks.
  struct CallStackReader: Sendable {
    /// The images of the process, looked up once as that takes long; code that is loaded later
    /// has no place.
    private let images = ImageMap.capture()

    /// The innermost callers; nil if the stack cannot be read.
    func capture() -> CallStack? {
      // A stack that cannot be walked only costs the report a place. The first two functions are
      // this one and its caller.
      guard
        let backtrace = try? Backtrace.capture(
          algorithm: .fast, limit: 24, offset: 2, top: 0, images: images)
      else { return nil }
      let addresses = backtrace.frames.map(\.originalProgramCounter)
      for index in FrameTable.shared.newcomers(addresses) {
        // Two frames, as the last one only says that there are more.
        let frame = try? Backtrace.capture(
          algorithm: .fast, limit: 2, offset: 2 + index, top: 0, images: images)
        FrameTable.shared.add(addresses[index], frame ?? backtrace)
      }
      return CallStack(addresses: addresses)
    }
  }

  /// A backtrace of one frame for each address that was seen in a call stack.
  ///
  /// To look up the place of one frame takes milliseconds in a large program, and a backtrace is
  /// looked up as a whole. Grows with the program's code, not with its running time.
  final class FrameTable: Sendable {
    static let shared = FrameTable()

    private let backtraces = Mutex<[Backtrace.Address: Backtrace]>([:])

    /// The indices of the addresses that are not in the table.
    func newcomers(_ addresses: [Backtrace.Address]) -> [Int] {
      backtraces.withLock { backtraces in
        addresses.indices.filter { backtraces[addresses[$0]] == nil }
      }
    }

    /// `backtrace` contains the frame; if it does not, the address has no place.
    func add(_ address: Backtrace.Address, _ backtrace: Backtrace) {
      backtraces.withLock { $0[address] = backtrace }
    }

    subscript(address: Backtrace.Address) -> Backtrace? { backtraces.withLock { $0[address] } }
  }
#else
  /// The functions that were under way on a thread: not known on this platform.
  struct CallStack: Hashable, Sendable {}

  /// Captures call stacks: not on this platform.
  struct CallStackReader: Sendable {
    func capture() -> CallStack? { nil }
  }
#endif
