import Hummingbird
import Synchronization

/// What goes wrong in an unreliable backend.
struct Faults: ResponseCodable, Equatable {
  /// The time that an answer takes, in milliseconds.
  var latency = 5.0
  /// The part of calls that stall, from 0 to 1, and for how many milliseconds.
  var stalls = 0.0
  var stall = 1000.0
  /// The part of calls that fail with status 503.
  var errors = 0.0

  /// What happens to the next call, at random.
  func next() -> Fate {
    if Double.random(in: 0..<1) < errors { return .fail }
    if Double.random(in: 0..<1) < stalls { return .answer(after: .milliseconds(stall)) }
    return .answer(after: .milliseconds(latency * .random(in: 0.5...1.5)))
  }
}

/// What happens to one call of a backend.
enum Fate: Sendable {
  case answer(after: Duration)
  case fail
  /// An answer when a test says so, or when the caller hangs up.
  case wait(for: @Sendable () async throws -> Void)
}
