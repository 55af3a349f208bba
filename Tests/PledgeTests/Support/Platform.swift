/// Blocks, as only synchronous code may.
func wait(_ promise: Promise<Int>) throws -> Int { try promise.wait() }

/// Returns the resident memory of the process, in bytes; nil if it can't be read.
func residentMemory() -> Int? {
  let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
  let fields = text?.split(separator: " ") ?? []
  return fields.count > 1 ? Int(fields[1]).map { $0 * 4096 } : nil
}

/// A random number generator whose numbers depend only on the seed.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    // SplitMix64.
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// The thread on which it was created.
struct ThreadMark: Sendable {
  private let id = ThreadMark.current

  private static var current: UInt { UInt(bitPattern: ObjectIdentifier(Thread.current)) }

  var isCurrent: Bool { id == ThreadMark.current }
}
