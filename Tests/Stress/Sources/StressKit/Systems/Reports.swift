import Pledge

/// Pledge's reports of unhandled rejections, grouped by program.
///
/// The hook is global, and programs run concurrently, so each error carries the number of its run:
/// a step's error as a property, a broken promise in its line, a timeout in its attoseconds.
enum Reports {
  /// Greater than the number of steps in a program, and less than the number of runs.
  static let runs = 1_000_000

  // Contains only runs in progress: later reports are ignored, and must not accumulate.
  private static let byRun = Lock<[Int: [Failure]]>([:])

  /// Returns the line for a broken promise, which is greater than any line of source code.
  static func line(run: Int, id: Int) -> UInt { UInt((run + 1) * runs + id) }

  static func install() {
    PromiseDiagnostics.setUnhandledRejectionHandler { rejection in
      guard let run = run(of: rejection.error) else { return }
      byRun.withLock { $0[run]?.append(Failure(rejection.error)) }
    }
  }

  /// Starts recording the reports of `run`.
  static func open(_ run: Int) { byRun.withLock { $0[run] = [] } }

  static func count(_ run: Int) -> Int { byRun.withLock { $0[run]?.count ?? 0 } }

  /// Stops recording, and returns the reports of `run`; later ones are ignored.
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
  /// Whether its report identifies the program.
  var leadsToItsRun: Bool {
    switch self {
    case .thrown, .resolverDropped, .timedOut: true
    case .aggregate(let failures): failures.contains { $0.leadsToItsRun }
    case .cancelled, .returnedItself, .other: false
    }
  }
}
