import Pledge

/// Pledge's reports of unhandled rejections, sorted by the program that they belong to.
///
/// The hook is one for the process; programs run side by side. Each error carries the number of
/// its run: a step's error as a field, a broken promise as its line, a timeout in its attoseconds.
enum Reports {
  /// More than there are steps in a program; less than there are runs.
  static let runs = 1_000_000

  // Of the runs in progress. Later reports are ignored, and must not accumulate.
  private static let byRun = Lock<[Int: [Failure]]>([:])

  /// The line for a broken promise; greater than any line of source code, which leads to no run.
  static func line(run: Int, id: Int) -> UInt { UInt((run + 1) * runs + id) }

  static func install() {
    PromiseDiagnostics.setUnhandledRejectionHandler { rejection in
      guard let run = run(of: rejection.error) else { return }
      byRun.withLock { $0[run]?.append(Failure(rejection.error)) }
    }
  }

  /// Starts to listen to the reports of `run`.
  static func open(_ run: Int) { byRun.withLock { $0[run] = [] } }

  static func count(_ run: Int) -> Int { byRun.withLock { $0[run]?.count ?? 0 } }

  /// The reports of `run`; those that come later are dropped.
  static func close(_ run: Int) -> [Failure] {
    byRun.withLock { $0.removeValue(forKey: run) ?? [] }
  }

  private static func run(of error: any Error) -> Int? {
    switch error {
    case let error as StressError: error.run
    case let error as BrokenPromiseError: error.origin.map { Int($0.line) / runs - 1 }
    case let error as TimeoutError: Int(error.duration.components.attoseconds) % runs
    case let error as AggregateError: error.errors.lazy.compactMap { run(of: $0) }.first
    default: nil
    }
  }
}

extension Failure {
  /// Whether a report of it can be told apart from that of another program.
  var leadsToItsRun: Bool {
    switch self {
    case .thrown, .resolverDropped, .timedOut: true
    case .aggregate(let failures): failures.contains { $0.leadsToItsRun }
    case .cancelled, .returnedItself, .other: false
    }
  }
}
