/// A kind of work that each library implements in its own way.
struct Workload: Sendable {
  let name: String
  /// The unit of work; all costs are given per unit.
  let unit: String
  /// The library whose cost is the lower bound, and therefore the denominator of the ratios.
  let floor: String
  /// The sizes with which a body is called.
  let sizes: [Int]
  /// Units of work in a body called with size 1.
  var unitsPerSize = 1
  /// The total size of a timed round; smaller sizes are repeated to reach it.
  var sizePerRound = 1
  /// The stack size of the thread that runs bodies, in bytes.
  var stackSize = 8 << 20
  /// Whether one thread always waits for another, so that a second core would be idle.
  ///
  /// Such workloads run on one core. Otherwise, the time would be that of waking another core,
  /// which differs tenfold from one round to the next, whatever the library does in that time.
  var isLockStep = false
  let summary: String
  /// The sum of the results for a size.
  var sum: @Sendable (Int) -> Int = { $0 }

  func units(_ size: Int) -> Int { size * unitsPerSize }
  func repeats(_ size: Int) -> Int { max(1, sizePerRound / size) }
}

/// The number of links in a chain, for workloads that measure short chains.
let chainLength = 10

extension Workload {
  /// The smallest stack of Dispatch's worker threads: what is safe here is safe everywhere.
  private static let smallStack = 512 << 10

  /// Every workload, in the order of the tables.
  static let all: [Workload] =
    [
      googleThen(1), googleThen(2), googleThen(3),
      Workload(
        name: "google-concurrent", unit: "promise", floor: "GCD", sizes: [10_000],
        summary: "Resolved promises with one `then` each on a concurrent queue; wait for all."),
      Workload(
        name: "inline-chain", unit: "link", floor: "Closures", sizes: [10_000],
        unitsPerSize: chainLength,
        summary: "Ten `map`s that hop to no queue on a pending promise, then settle it.",
        sum: { $0 * (chainLength + 1) }),
      Workload(
        name: "queue-chain", unit: "link", floor: "GCD", sizes: [2_000], unitsPerSize: chainLength,
        isLockStep: true,
        summary:
          "Ten `map`s on one serial queue on a pending promise, settle it, wait for the last.",
        sum: { $0 * (chainLength + 1) }),
      Workload(
        name: "resolved-map", unit: "promise", floor: "Closures", sizes: [100_000],
        summary: "Make a resolved promise, `map` it inline, read the result.", sum: { 2 * $0 }),
      Workload(
        name: "fan-in", unit: "element", floor: "Closures", sizes: [1_000, 10_000, 100_000],
        sizePerRound: 100_000,
        summary: "Make n pending promises, join them, settle each, get all values.",
        sum: { $0 * ($0 - 1) / 2 }),
      Workload(
        name: "fan-out", unit: "observer", floor: "Closures", sizes: [10_000],
        sizePerRound: 100_000,
        summary: "Attach n observers to one pending promise, then settle it."),
      Workload(
        name: "contended-observe", unit: "promise", floor: "NIO loop", sizes: [100_000],
        summary: "One thread settles each promise while another attaches an observer to it."),
      Workload(
        name: "contended-settle", unit: "promise", floor: "NIO loop", sizes: [100_000],
        summary: "Two threads settle each promise at once; it has one observer already."),
      Workload(
        name: "recursive-loop", unit: "round", floor: "Closures",
        sizes: [10_000, 10_000_000], sizePerRound: 100_000,
        summary: "`step(i)` is `work().then { step(i + 1) }`, with work that is done already."),
      Workload(
        name: "deep-chain", unit: "link", floor: "Closures",
        sizes: [10_000, 1_000_000], sizePerRound: 100_000, stackSize: smallStack,
        summary: "A chain of n inline `map`s: build, settle, release, with a stack of 512 KiB.",
        sum: { $0 + 1 }),
      Workload(
        name: "await-value", unit: "await", floor: "async call", sizes: [100_000],
        summary: "`await` the value of a promise that is settled already."),
      Workload(
        name: "cancel", unit: "promise", floor: "Closures", sizes: [100_000],
        summary: "Make a pending promise with one `map`, cancel it; its producer is notified."),
      Workload(
        name: "timer", unit: "timeout", floor: "GCD", sizes: [100_000],
        summary: "Give n pending promises a timeout of an hour, then settle them all."),
    ] + policies + [
      Workload(
        name: "pending-map-bytes", unit: "promise", floor: "Closures", sizes: [10_000],
        summary: "Make a pending promise with one `map` and keep both; bytes are live bytes.")
    ]

  /// The policies, compared with what is written by hand for one case.
  private static let policies = [
    policy("retry", "operation", 100_000, "An operation succeeds at the first attempt."),
    policy("limiter", "operation", 100_000, "An operation runs in a limiter with room."),
    policy(
      "limiter-64", "operation", 64_000,
      "64 tasks share a limiter of 8; each operation suspends once."),
    policy("coalescer", "request", 20_000, "Requests for distinct keys, one after the other."),
    policy("coalescer-64", "request", 64_000, "As `policy-coalescer`, in 64 tasks."),
    policy("map", "element", 20_000, "A thousand elements with at most 8 operations at a time."),
    policy(
      "stream", "result", 20_000, "At most 8 operations at a time; results are read as they arrive."
    ),
    policy("first", "race", 20_000, "The first of two operations to finish."),
    policy("timeout", "operation", 10_000, "An operation with a timeout of an hour."),
  ]

  private static func policy(
    _ name: String, _ unit: String, _ size: Int, _ summary: String
  ) -> Workload {
    Workload(name: "policy-\(name)", unit: unit, floor: "By hand", sizes: [size], summary: summary)
  }

  static subscript(name: String) -> Workload? { all.first { $0.name == name } }

  private static func googleThen(_ count: Int) -> Workload {
    Workload(
      name: "google-then-\(count)", unit: "try", floor: "GCD", sizes: [10_000], isLockStep: true,
      summary: "A resolved promise, \(count) `then` on a serial queue, wait for the last.")
  }
}
