import Pledge
import PledgeTesting
import Testing

@testable import PledgeDiagnostics

// Each test has its own trace, which doesn't record the promises of other tests. The tests are
// serialized anyway, because each running trace slows down the promises of all tests.
@Suite(.serialized) struct TraceTests {}

struct Oops: Error {}

/// Calls `body` while a trace records its promises, on a clock that doesn't advance.
func tracing<Result>(
  limit: Int? = nil, capturesPlaces: Bool = true, clock: any Clock<Duration> = TestClock(),
  _ body: (Trace) throws -> Result
) rethrows -> Result {
  try Trace.recording(limit: limit, capturesPlaces: capturesPlaces, clock: clock, body)
}

/// Calls `body` while a trace records its promises, on a clock that doesn't advance.
func tracing<Result>(
  limit: Int? = nil, capturesPlaces: Bool = true, clock: any Clock<Duration> = TestClock(),
  _ body: (Trace) async throws -> Result
) async rethrows -> Result {
  try await Trace.recording(limit: limit, capturesPlaces: capturesPlaces, clock: clock, body)
}

extension PendingTree {
  /// Returns the node of a promise.
  func node(_ id: PromiseDiagnostics.PromiseID) -> Node? {
    nodes.first { $0.promise == id }
  }

  /// The operations, each indented below the one that it waits for.
  var outline: [String] {
    nodes.map { String(repeating: " ", count: $0.depth) + $0.operation }
  }
}
