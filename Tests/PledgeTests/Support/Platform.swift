/// Blocks, as only synchronous code may.
func wait(_ promise: Promise<Int>) throws -> Int { try promise.wait() }

/// Returns the resident memory of the process, in bytes; nil if it can't be read.
func residentMemory() -> Int? {
  let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
  let fields = text?.split(separator: " ") ?? []
  return fields.count > 1 ? Int(fields[1]).map { $0 * 4096 } : nil
}

/// The thread on which it was created.
struct ThreadMark: Sendable {
  private let id = ThreadMark.current

  private static var current: UInt { UInt(bitPattern: ObjectIdentifier(Thread.current)) }

  var isCurrent: Bool { id == ThreadMark.current }
}
