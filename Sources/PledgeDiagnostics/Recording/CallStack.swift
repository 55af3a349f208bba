import Pledge

/// The return addresses on a thread's call stack, innermost first.
struct CallStack: Sendable {
  /// The hash value of the addresses, which identifies them.
  let key: UInt64
  let addresses: [UInt]
}

/// The call stacks of all recorded events, each stored once.
enum CallStacks {
  /// A program has as many call stacks as places, but recursion adds more; the events of further
  /// ones have no source location.
  private static let limit = 50_000

  private static let stacks = Mutex<[UInt64: CallStack]>([:])

  fileprivate static func insert(_ callStack: CallStack) -> Bool {
    stacks.withLock { stacks in
      guard stacks.count < limit || stacks[callStack.key] != nil else { return false }
      stacks[callStack.key] = callStack
      return true
    }
  }

  /// Returns the call stack with the key of an event.
  static func callStack(_ key: UInt64) -> CallStack? {
    stacks.withLock { $0[key] }
  }
}

/// The keys of call stacks that a thread has seen before, so that it needs no lock for them.
struct KnownCallStacks {
  /// The maximum number of callers to capture; the innermost ones belong to the library.
  private static let depth = 40
  private static let size = 1024

  /// Each key at its remainder; a newer one replaces it.
  private var keys = [UInt64](repeating: 0, count: size)

  /// Returns the key of the current call stack: its hash value; zero if it can't be read.
  mutating func capture(endOfStack: UInt) -> UInt64 {
    withUnsafeTemporaryAllocation(of: UInt.self, capacity: Self.depth) { memory in
      guard let addresses = memory.baseAddress else { return 0 }
      let count = FramePointers.read(
        into: addresses, capacity: Self.depth, endOfStack: endOfStack)
      if count == 0 { return 0 }
      var key: UInt64 = 0
      for index in 0..<count {
        key = (key ^ UInt64(addresses[index])) &* 0x9E37_79B9_7F4A_7C15
        key ^= key >> 29
      }
      let slot = Int(key % UInt64(Self.size))
      if keys[slot] == key { return key }
      let callStack = CallStack(key: key, addresses: (0..<count).map { addresses[$0] })
      guard CallStacks.insert(callStack) else { return 0 }
      keys[slot] = key
      return key
    }
  }
}
