import CHeap

enum Memory {
  /// Returns the number of heap bytes that are allocated and not freed; 0 if the platform doesn't
  /// report it.
  static func heapBytes() -> Int { Int(heap_bytes_in_use()) }

  /// Returns the growth of samples that were taken at equal intervals.
  ///
  /// The first third is the warm-up. Of the rest, the lowest sample of the last quarter is compared
  /// with the lowest of the first. A leak raises every later sample, and therefore the lowest one;
  /// the load of the machine (programs in progress, and threads of queues) doesn't.
  static func growth(_ samples: [Int]) -> Growth? {
    let settled = Array(samples[(samples.count / 3)...])
    guard settled.count >= 4 else { return nil }
    let quarter = settled.count / 4
    guard let first = settled.prefix(quarter).min(), let last = settled.suffix(quarter).min() else {
      return nil
    }
    return Growth(from: first, to: last)
  }
}

/// A change in memory usage, in bytes.
struct Growth: CustomStringConvertible {
  let from: Int
  let to: Int

  var bytes: Int { to - from }
  var description: String { "from \(from >> 10) to \(to >> 10) KiB" }
}
