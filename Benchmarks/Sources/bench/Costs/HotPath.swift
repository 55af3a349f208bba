/// A quantity that is counted rather than timed, so that it is the same in every run.
enum Quantity: String, CaseIterable {
  /// Instructions in user space.
  case instructions
  case allocations
  /// Heap bytes in use while the objects are alive.
  case bytes

  /// The absolute tolerance, which matters for costs near zero.
  ///
  /// Startup varies by some thousand instructions, and Dispatch occasionally allocates or frees a
  /// block.
  var slack: Double {
    switch self {
    case .instructions: 3
    case .allocations: 0.05
    case .bytes: 1
    }
  }
}

/// A workload whose cost for Pledge must not increase unnoticed.
struct HotPath {
  let workload: String
  let size: Int
  /// The number of times that the body runs while instructions are counted.
  let times: Int
  let quantities: [Quantity]

  private init(_ workload: String, size: Int, times: Int = 1, _ quantities: Quantity...) {
    (self.workload, self.size, self.times) = (workload, size, times)
    self.quantities = quantities
  }

  static let library = "Pledge"

  /// The relative tolerance of workloads whose counts vary more than the default tolerance.
  ///
  /// In `google-then-3`, each of the three handlers takes a separate hop if the queue is faster than the
  /// caller, as it often is on a busy machine.
  static let noise = ["google-then-3": 0.7]

  /// The hot paths, and the quantities that are counted.
  ///
  /// If threads wait for each other, the number of instructions varies by some 5 % with their
  /// order, so only allocations are counted for those paths. In `queue-chain` the variation is
  /// below 1 %. In `contended-observe` a late observer needs no handler, so nothing can be counted.
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
