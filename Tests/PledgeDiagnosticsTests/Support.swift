import Pledge
import PledgeTesting
import Testing

@testable import PledgeDiagnostics

// Each test has a trace of its own, which does not see the promises of the others. They run in turn
// all the same, as each trace that is on slows down the promises of all tests.
@Suite(.serialized) struct TraceTests {}

struct Oops: Error {}

/// Runs `body` with a trace of what it does, on a clock that stands still.
func tracing<Result>(
  limit: Int? = nil, capturesPlaces: Bool = true, clock: any Clock<Duration> = TestClock(),
  _ body: (Trace) throws -> Result
) rethrows -> Result {
  try Trace.recording(limit: limit, capturesPlaces: capturesPlaces, clock: clock, body)
}

/// Runs `body` with a trace of what it does, on a clock that stands still.
func tracing<Result>(
  limit: Int? = nil, capturesPlaces: Bool = true, clock: any Clock<Duration> = TestClock(),
  _ body: (Trace) async throws -> Result
) async rethrows -> Result {
  try await Trace.recording(limit: limit, capturesPlaces: capturesPlaces, clock: clock, body)
}

extension PendingTree {
  /// The node of a promise.
  func node(_ id: PromiseDiagnostics.PromiseID) -> Node? {
    nodes.first { $0.promise == id }
  }

  /// The operations, each below what it waits for.
  var outline: [String] {
    nodes.map { String(repeating: " ", count: $0.depth) + $0.operation }
  }
}
