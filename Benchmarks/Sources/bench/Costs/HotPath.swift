/// Something that is counted rather than timed, so that it is the same on every run.
enum Quantity: String, CaseIterable {
  /// Instructions in user space.
  case instructions
  /// Blocks taken from the heap.
  case allocations
  /// Bytes of the heap still in use while the objects live.
  case bytes

  /// What may come on top even of a cost near zero.
  ///
  /// Start-up varies by some thousand instructions, and Dispatch now and then frees or takes a block.
  var slack: Double {
    switch self {
    case .instructions: 3
    case .allocations: 0.05
    case .bytes: 1
    }
  }
}

/// A workload whose cost for Pledge must not grow unnoticed.
struct HotPath {
  let workload: String
  let size: Int
  /// How often the body runs while instructions are counted.
  let times: Int
  let quantities: [Quantity]

  private init(_ workload: String, size: Int, times: Int = 1, _ quantities: Quantity...) {
    self.workload = workload
    self.size = size
    self.times = times
    self.quantities = quantities
  }

  static let library = "Pledge"

  /// By how much the count of a workload varies, where that is more than a little.
  ///
  /// In `google-then-3` a handler takes a hop of its own if the queue is quicker than the caller.
  static let noise = ["google-then-3": 0.3]

  /// What is counted.
  ///
  /// Where threads wait for each other the number of instructions depends on which comes first, by
  /// some 5 %: of those paths only allocations are counted. In `queue-chain` it is below 1 %. In
  /// `contended-observe` an observer that comes late needs no handler, so nothing can be counted.
  static let all = [
    HotPath("inline-chain", size: 500, .instructions, .allocations),
    HotPath("resolved-map", size: 2_000, .instructions, .allocations),
    HotPath("queue-chain", size: 400, .instructions, .allocations),
    HotPath("fan-in", size: 1_000, times: 2, .instructions, .allocations),
    HotPath("fan-out", size: 1_000, times: 4, .instructions, .allocations),
    HotPath("recursive-loop", size: 2_000, .instructions, .allocations),
    HotPath("await-value", size: 20_000, .instructions, .allocations),
    HotPath("cancel", size: 1_000, .instructions, .allocations),
    HotPath("timer", size: 500, .instructions, .allocations),
    HotPath("google-then-1", size: 1_000, .allocations),
    HotPath("google-then-3", size: 1_000, .allocations),
    HotPath("contended-settle", size: 10_000, .allocations),
    HotPath("pending-map-bytes", size: 10_000, .allocations, .bytes),
  ]
}
