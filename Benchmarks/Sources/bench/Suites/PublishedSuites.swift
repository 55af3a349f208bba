/// Adds workloads for which other projects publish figures: Bluebird's `doxbee-sequential`, with
/// and without errors, and `madeup-parallel`; NIO's future with many callbacks; Cats Effect's race
/// and sleep drift.
func addPublishedSuites(to registry: inout Registry) {
  addPledgeSuites(to: &registry)
  addClosureSuites(to: &registry)
  addNIOSuites(to: &registry)
  addConcurrencySuites(to: &registry)
}

struct UploadFailure: Error {}

/// The expected results of uploads, for every library.
enum Upload {
  /// The number of concurrent calls in a request of `madeup-parallel`.
  static let width = 25

  static func fails(_ number: Int, _ withErrors: Bool) -> Bool { withErrors && number % 4 == 0 }

  /// Returns the sum of the results of `count` uploads: eight calls add one each; a failed upload
  /// counts as -1.
  static func sum(_ count: Int, withErrors: Bool) -> Int {
    (0..<count).reduce(0) { $0 + (fails($1, withErrors) ? -1 : $1 + 8) }
  }

  static func parallelSum(_ count: Int) -> Int {
    (0..<count).reduce(0) { $0 + (0..<width).reduce($1) { $0 + $1 } + width + 1 }
  }
}

extension Registry {
  /// Adds a body that starts `count` requests concurrently, waits for all, and checks the sum of
  /// their results.
  mutating func addRequests(
    _ workload: String, library: String, note: String,
    sum expected: @escaping @Sendable (Int) -> Int,
    _ request:
      @escaping @Sendable (_ number: Int, _ done: @escaping @Sendable (Int) -> Void) -> Void
  ) {
    add(workload, library: library, note: note) { count in
      let latch = Latch(count)
      let sum = Slot(0)
      for number in 0..<count {
        request(number) {
          sum.value &+= $0
          latch.countDown()
        }
      }
      latch.wait()
      check(sum.value, is: expected(count))
    }
  }

  /// Adds both uploads of `doxbee`.
  mutating func addUploads(
    library: String, note: String,
    _ upload:
      @escaping @Sendable (
        _ number: Int, _ withErrors: Bool, _ done: @escaping @Sendable (Int) -> Void
      ) -> Void
  ) {
    for (workload, withErrors) in [("doxbee-sequential", false), ("doxbee-errors", true)] {
      addRequests(workload, library: library, note: note) {
        Upload.sum($0, withErrors: withErrors)
      } _: { number, done in
        upload(number, withErrors, done)
      }
    }
  }
}
