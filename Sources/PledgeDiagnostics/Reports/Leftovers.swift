import Pledge

/// The promises of a piece of code that are pending or still in memory, and its unhandled errors.
package struct Leftovers: Sendable {
  /// The number of pending promises, and of tasks and threads that wait for one.
  package let pending: Int
  /// The number of settled promises that are still in memory.
  package let settled: Int
  /// The number of those that are rejected: their errors can still be reported as unhandled.
  package let rejected: Int
  /// The unhandled rejections.
  package let unhandled: [PromiseDiagnostics.UnhandledRejection]
}

extension Trace {
  /// Returns the promises and unhandled errors that the recorded code has left behind so far.
  ///
  /// - Complexity: O(n) for n promises in the record.
  package func leftovers() -> Leftovers {
    withLog { log in
      let settled = log.living.filter { $0.settlement != nil }
      return Leftovers(
        pending: log.records.values.count { $0.isPending && $0.kind != .unknown && !$0.isInput },
        settled: settled.count,
        rejected: settled.count { $0.settlement?.rejection != nil },
        unhandled: log.unhandled)
    }
  }

  /// Returns a line for each settled promise that is still in memory, at most `limit` lines.
  ///
  /// - Complexity: O(n log n) for n promises in the record, and a lookup in the debug information
  ///   for each line.
  package func settledPromises(limit: Int) -> [String] {
    let snapshot = snapshot()
    let settled = snapshot.log.living.filter { $0.settlement != nil }
    return settled.sorted { $0.number < $1.number }.prefix(limit).map { record in
      let result = snapshot.error(of: record).map { "rejected with \($0)" } ?? "fulfilled"
      return "\(snapshot.title(of: record)): \(result)"
    }
  }
}
