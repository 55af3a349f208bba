/// Workloads that other projects publish figures of: Bluebird's `doxbee-sequential`, with and without
/// errors, and `madeup-parallel`; NIO's future with many callbacks; Cats Effect's race and sleep drift.
func addPublishedSuites(to registry: inout Registry) {
  addPledgeSuites(to: &registry)
  addClosureSuites(to: &registry)
  addNIOSuites(to: &registry)
  addConcurrencySuites(to: &registry)
}

struct UploadFailure: Error {}

/// What an upload comes to, whatever it is written with.
enum Upload {
  /// How many calls at once a request of `madeup-parallel` makes.
  static let width = 25

  static func fails(_ number: Int, _ withErrors: Bool) -> Bool { withErrors && number % 4 == 0 }

  /// The sum of the results of `count` uploads: eight calls add one each; a failed one counts -1.
  static func sum(_ count: Int, withErrors: Bool) -> Int {
    (0..<count).reduce(0) { $0 + (fails($1, withErrors) ? -1 : $1 + 8) }
  }

  static func parallelSum(_ count: Int) -> Int {
    (0..<count).reduce(0) { $0 + (0..<width).reduce($1) { $0 + $1 } + width + 1 }
  }
}
