import Pledge

/// The call stacks of all recorded events, each stored once, as the return addresses on a thread's
/// stack, innermost first.
enum CallStacks {
  /// A program has as many call stacks as places, but recursion adds more; the events of further
  /// ones have no source location.
  private static let limit = 50_000

  /// The call stacks, and their numbers by the hash values of the addresses.
  private static let state = Mutex<(addresses: [[UInt]], numbers: [UInt64: UInt32])>(([], [:]))

  /// Returns the number of a call stack, which starts at one; nil if there are too many.
  fileprivate static func number(
    of key: UInt64, _ addresses: UnsafeBufferPointer<UInt>
  ) -> UInt32? {
    state.withLock { state in
      if let number = state.numbers[key] { return number }
      guard state.addresses.count < limit else { return nil }
      state.addresses.append(Array(addresses))
      let number = UInt32(state.addresses.count)
      state.numbers[key] = number
      return number
    }
  }

  static func addresses(_ number: UInt32) -> [UInt] {
    number == 0 ? [] : state.withLock { $0.addresses[Int(number) - 1] }
  }
}

/// The call stacks that a thread has seen before, so that it needs no lock for them.
struct KnownCallStacks {
  /// The maximum number of callers to capture; the innermost ones belong to the library.
  private static let depth = 40
  private static let size = 1024

  /// Each hash value, with its number, at its remainder; a newer one replaces it.
  private var known = [(key: UInt64, number: UInt32)](repeating: (0, 0), count: size)

  /// Returns the number of the current call stack; zero if it can't be read.
  mutating func capture(endOfStack: UInt) -> UInt32 {
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
      if known[slot].key == key { return known[slot].number }
      let callStack = UnsafeBufferPointer(start: addresses, count: count)
      guard let number = CallStacks.number(of: key, callStack) else { return 0 }
      known[slot] = (key, number)
      return number
    }
  }
}
