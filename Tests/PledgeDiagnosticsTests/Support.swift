import Pledge
import PledgeTesting
import Testing

@testable import PledgeDiagnostics

// One trace is on at a time in the whole process, so all tests that use one stand in this suite.
@Suite(.serialized) struct TraceTests {}

struct Oops: Error {}

/// Runs `body` with a trace that is on, and stops it afterwards.
func tracing<Result>(
  limit: Int? = nil, capturesPlaces: Bool = true, clock: any Clock<Duration> = TestClock(),
  _ body: (Trace) throws -> Result
) rethrows -> Result {
  let trace = Trace.start(limit: limit, capturesPlaces: capturesPlaces, clock: clock)
  defer { trace.stop() }
  return try body(trace)
}

/// Runs `body` with a trace that is on, and stops it afterwards.
func tracing<Result>(
  limit: Int? = nil, capturesPlaces: Bool = true, clock: any Clock<Duration> = TestClock(),
  _ body: (Trace) async throws -> Result
) async rethrows -> Result {
  let trace = Trace.start(limit: limit, capturesPlaces: capturesPlaces, clock: clock)
  defer { trace.stop() }
  return try await body(trace)
}

extension PendingTree {
  /// The node of a promise.
  func node(_ id: Diagnostics.PromiseID) -> Node? {
    nodes.first { $0.promise == id }
  }

  /// The operations, each below what it waits for.
  var outline: [String] {
    nodes.map { String(repeating: " ", count: $0.depth) + $0.operation }
  }
}
