import Foundation
import NIOCore

/// The time by which the response to a request must be complete.
///
/// Header fields contain the number of remaining milliseconds, because the clocks of two machines
/// differ.
struct Deadline: Sendable {
  static let header = "x-deadline-ms"
  let instant: ContinuousClock.Instant

  static func after(_ duration: Duration) -> Deadline { Deadline(instant: .now + duration) }

  /// Returns the deadline of a request with this value of the header field, at most `limit` from
  /// now.
  static func of(header: String?, limit: Duration) -> Deadline {
    guard let header, let milliseconds = Int(header) else { return .after(limit) }
    return .after(min(limit, .milliseconds(max(milliseconds, 0))))
  }

  var remaining: Duration { max(ContinuousClock.now.duration(to: instant), .zero) }

  /// The value of the header field for a call that starts now.
  var headerValue: String { "\(Int(remaining / .milliseconds(1)))" }

  var nio: NIODeadline { .now() + TimeAmount(remaining) }
}

extension ContinuousClock.Instant {
  /// The time that has passed since this instant, for logs.
  var elapsed: String { String(format: "%.1f ms", duration(to: .now) / .milliseconds(1)) }
}
