import Hummingbird

/// The faults of an unreliable backend.
struct Faults: ResponseCodable, Equatable {
  /// The average time that a response takes, in milliseconds.
  var latency = 5.0
  /// The fraction of calls that stall, from 0 to 1, and the duration of a stall, in milliseconds.
  var stalls = 0.0
  var stall = 1000.0
  /// The fraction of calls that fail with status 503.
  var errors = 0.0

  func next() -> Fate {
    if Double.random(in: 0..<1) < errors { return .fail }
    if Double.random(in: 0..<1) < stalls { return .answer(after: .milliseconds(stall)) }
    return .answer(after: .milliseconds(latency * .random(in: 0.5...1.5)))
  }
}

enum Fate: Sendable {
  case answer(after: Duration)
  case fail
  /// A response after the given closure has returned, unless the caller disconnects first.
  case wait(for: @Sendable () async throws -> Void)
}
