// What all files of this target import.
@_exported import Foundation
@_exported import Pledge
@_exported import PledgeTesting
@_exported import Testing

@testable import PledgeDiagnostics

// Each test has its own trace, which doesn't record the promises of other tests. The tests are
// serialized anyway, because each running trace slows down the promises of all tests.
@Suite(.serialized) struct TraceTests {}

struct Oops: Error {}

/// Blocks, as synchronous handlers may.
func wait(for promise: Promise<Int>) throws -> Int { try promise.wait() }

/// Calls `body` while a trace records its promises.
func tracing<Result>(
  limit: Int? = nil, capturesPlaces: Bool = true, _ body: (Trace) throws -> Result
) rethrows -> Result {
  let trace = Trace(limit: limit, capturesPlaces: capturesPlaces, isScoped: true)
  Recorder.add(trace)
  defer { trace.stop() }
  return try Trace.$scope.withValue(trace) { try body(trace) }
}

/// Calls `body` while a trace records its promises.
func tracing<Result>(
  limit: Int? = nil, capturesPlaces: Bool = true, _ body: (Trace) async throws -> Result
) async rethrows -> Result {
  try await Trace.recording(limit: limit, capturesPlaces: capturesPlaces, body)
}

extension PendingTree {
  /// Returns the node of a promise.
  func node(_ id: PromiseDiagnostics.PromiseID) -> Trace.Line? { nodes.first { $0.promise == id } }

  /// Returns whether the node of a promise says why it is pending.
  func says(_ words: String, of id: PromiseDiagnostics.PromiseID) -> Bool {
    node(id)?.description.contains(": " + words) == true
  }

  /// The operations, each indented below the one that it waits for.
  var outline: [String] { nodes.map { String(repeating: " ", count: $0.depth) + $0.operation } }
}
