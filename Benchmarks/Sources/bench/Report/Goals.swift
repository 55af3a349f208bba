/// The cost that Pledge, or a module built on it, should have, as a multiple of floors and peers.
struct Goal {
  /// The quantity that is compared; times are per unit of the workload.
  enum Measure: Equatable {
    /// Time, as a multiple of another library's.
    case time(against: String)
    /// The difference in time between `google-then-3` and `google-then-1`, as a multiple of another
    /// library's.
    case timeOfExtraThens(against: String)
    /// Time at this size, as a multiple of the time at another size.
    case timeGrowth(from: Int)
    /// Peak memory of the process at this size, as a multiple of that at another size.
    case memoryGrowth(from: Int)
    case allocations
    case bytes
    case survival
  }

  let library: String
  let workload: String
  let size: Int
  let measure: Measure
  let limit: Double

  private init(
    _ workload: String, of library: String = Self.library, size: Int, _ measure: Measure,
    atMost limit: Double
  ) {
    (self.library, self.workload, self.size) = (library, workload, size)
    (self.measure, self.limit) = (measure, limit)
  }

  static let library = "Pledge"
  static let all = pledge + promises + promiseKit

  private static let pledge = [
    Goal("inline-chain", size: 10_000, .time(against: "Closures"), atMost: 2.5),
    Goal("inline-chain", size: 10_000, .time(against: "NIO embedded"), atMost: 0.5),
    Goal("inline-chain", size: 10_000, .allocations, atMost: 2),
    Goal("pending-map-bytes", size: 10_000, .bytes, atMost: 160),
    Goal("resolved-map", size: 100_000, .time(against: "NIO embedded"), atMost: 0.5),
    Goal("google-then-1", size: 10_000, .time(against: "GCD"), atMost: 1.1),
    Goal("google-then-3", size: 10_000, .time(against: "GCD"), atMost: 1.1),
    Goal("google-then-3", size: 10_000, .timeOfExtraThens(against: "NIO loop"), atMost: 0.8),
    Goal("google-concurrent", size: 10_000, .time(against: "GCD"), atMost: 1.2),
    Goal("queue-chain", size: 2_000, .time(against: "GCD"), atMost: 0.4),
    Goal("fan-in", size: 100_000, .time(against: "Closures"), atMost: 3),
    Goal("fan-in", size: 100_000, .time(against: "NIO embedded"), atMost: 0.3),
    Goal("fan-in", size: 100_000, .timeGrowth(from: 1_000), atMost: 1.25),
    Goal("fan-out", size: 10_000, .time(against: "Closures"), atMost: 4),
    Goal("fan-out", size: 10_000, .time(against: "NIO embedded"), atMost: 0.25),
    Goal("contended-observe", size: 100_000, .time(against: "NIO loop"), atMost: 0.3),
    Goal("contended-settle", size: 100_000, .time(against: "NIO loop"), atMost: 0.3),
    Goal("deep-chain", size: 1_000_000, .survival, atMost: 1),
    Goal("recursive-loop", size: 10_000_000, .memoryGrowth(from: 10_000), atMost: 1.1),
    Goal("await-value", size: 100_000, .time(against: "async call"), atMost: 2),
  ]

  private static let promises =
    [
      ("google-then-1", 10_000, 1.25), ("google-then-3", 10_000, 1.25),
      ("google-concurrent", 10_000, 1.5), ("fan-in", 10_000, 2), ("fan-out", 10_000, 2),
      ("contended-observe", 100_000, 3), ("contended-settle", 100_000, 3),
    ].map { workload, size, limit in
      Goal(workload, of: "Promises module", size: size, .time(against: "Group hops"), atMost: limit)
    }
    + ["google-then-1", "google-then-2", "google-then-3", "google-concurrent"].map { workload in
      Goal(
        workload, of: "Promises module", size: 10_000, .time(against: "PromiseKit module"),
        atMost: 1)
    }

  private static let promiseKit = [
    Goal(
      "inline-chain", of: "PromiseKit module", size: 10_000, .time(against: "Pledge"), atMost: 1.5)
  ]
}

extension Goal {
  /// The result of a goal in one run.
  enum Outcome: Equatable {
    case met(Double)
    case missed(Double)
    /// The workload wasn't measured, or a library that is compared failed.
    case unknown

    fileprivate init(_ value: Double, limit: Double) {
      self = value <= limit ? .met(value) : .missed(value)
    }
  }

  func outcome(in report: Report) -> Outcome {
    guard let own = Workload[workload].flatMap({ report.result($0, library, size) }) else {
      return .unknown
    }
    if own.failure != nil { return .missed(.infinity) }
    guard let value = value(own, in: report) else { return .unknown }
    return Outcome(value, limit: limit)
  }

  private func value(_ own: CellResult, in report: Report) -> Double? {
    switch measure {
    case .time(let library):
      return quotient(own.nanoseconds, report.result(own.workload, library, size)?.nanoseconds)
    case .timeOfExtraThens(let library):
      return quotient(extraThens(self.library, in: report), extraThens(library, in: report))
    case .timeGrowth(let small):
      return quotient(own.nanoseconds, report.result(own.workload, library, small)?.nanoseconds)
    case .memoryGrowth(let small):
      let start = report.result(own.workload, own.library, small)
      return quotient(own.peakBytes.map(Double.init), start?.peakBytes.map(Double.init))
    case .allocations: return own.allocations
    case .bytes: return own.bytes
    case .survival: return 0
    }
  }

  private func extraThens(_ library: String, in report: Report) -> Double? {
    func time(_ name: String) -> Double? {
      Workload[name].flatMap { report.result($0, library, size)?.nanoseconds }
    }
    guard let one = time("google-then-1"), let three = time("google-then-3") else { return nil }
    return three - one
  }

  private func quotient(_ dividend: Double?, _ divisor: Double?) -> Double? {
    guard let dividend, let divisor, divisor > 0 else { return nil }
    return dividend / divisor
  }
}

// MARK: - Text

extension Goal {
  var subject: String {
    let unit = Workload[workload]?.unit ?? "unit"
    let what: String =
      switch measure {
      case .time(let library): "time per \(unit), as a multiple of \(library)"
      case .timeOfExtraThens(let library): "time of an extra `then`, as a multiple of \(library)"
      case .timeGrowth(let small): "time per \(unit), as a multiple of that at \(grouped(small))"
      case .memoryGrowth(let small): "peak memory, as a multiple of that at \(grouped(small))"
      case .allocations: "allocations per \(unit)"
      case .bytes: "live bytes per \(unit)"
      case .survival: "ends well"
      }
    return library == Self.library ? what : "\(library): \(what)"
  }

  /// Returns a row of the table: workload, size, subject, limit, result, verdict.
  func row(in report: Report) -> [String] {
    let (value, verdict): (Double?, String) =
      switch outcome(in: report) {
      case .met(let value): (value, "met")
      case .missed(let value): (value, "**missed**")
      case .unknown: (nil, "not measured")
      }
    let result = value.map { $0.isFinite ? short($0) : "failed" } ?? ""
    let isNumber = measure != .survival
    return [
      workload, grouped(size), subject, isNumber ? "≤ \(short(limit))" : "",
      isNumber ? result : "", verdict,
    ]
  }
}
