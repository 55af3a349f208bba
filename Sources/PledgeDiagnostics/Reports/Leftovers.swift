import Pledge

/// What a piece of code has left behind: promises that are pending or still in memory, and errors
/// without a handler.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
package struct Leftovers: Sendable {
  /// How many promises are pending, and tasks and threads that wait for one.
  package let pending: Int
  /// How many promises are settled, and still in memory.
  package let settled: Int
  /// How many of those are rejected, so that their errors can still be reported as unhandled.
  package let rejected: Int
  /// The unhandled rejections.
  package let unhandled: [PromiseDiagnostics.UnhandledRejection]
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Trace {
  /// What the code that this trace records has left behind up to now.
  ///
  /// - Complexity: O(n) for n promises in the record.
  package func leftovers() -> Leftovers {
    withLog { log in
      let settled = log.living.filter { $0.settlement != nil }
      return Leftovers(
        pending: log.records.values.count { $0.isOwnWait },
        settled: settled.count,
        rejected: settled.count { $0.settlement?.rejection != nil },
        unhandled: log.unhandled)
    }
  }

  /// The promises that are settled and still in memory, a line for each; at most `limit` of them.
  ///
  /// - Complexity: O(n log n), and a look into the debugging information for each line.
  package func settledPromises(limit: Int) -> [String] {
    let snapshot = snapshot()
    let settled = snapshot.log.living.filter { $0.settlement != nil }
    return settled.sorted { $0.number < $1.number }.prefix(limit).map { record in
      let result = record.settlement?.rejection.map { "rejected with \($0.error)" } ?? "fulfilled"
      return "\(snapshot.title(of: record)): \(result)"
    }
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Record {
  /// Whether it is pending, and the code that the trace records began that.
  fileprivate var isOwnWait: Bool {
    isPending && kind != .unknown && !(kind == .observer && result != nil)
  }
}
