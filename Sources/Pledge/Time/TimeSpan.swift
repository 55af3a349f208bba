import Dispatch

/// A length of time, as the library keeps it: `Duration` needs macOS 13 and iOS 16.
///
/// It holds all that a `Duration` holds.
package struct TimeSpan: Hashable, Comparable, Sendable {
  /// As the components of a `Duration`: the two have one sign.
  private let seconds: Int64
  private let attoseconds: Int64

  private init(seconds: Int64, attoseconds: Int64) {
    self.seconds = seconds
    self.attoseconds = attoseconds
  }

  package static var zero: TimeSpan { TimeSpan(seconds: 0, attoseconds: 0) }

  /// Longer than anything.
  package static var infinite: TimeSpan { TimeSpan(seconds: .max, attoseconds: 0) }

  package static func seconds(_ count: Int64) -> TimeSpan {
    TimeSpan(seconds: count, attoseconds: 0)
  }

  package static func nanoseconds(_ count: Int64) -> TimeSpan {
    TimeSpan(seconds: count / 1_000_000_000, attoseconds: count % 1_000_000_000 * 1_000_000_000)
  }

  /// The time of `seconds`, to the nearest nanosecond; infinite from 292 years on.
  package static func rounding(seconds: Double) -> TimeSpan {
    let nanoseconds = (seconds * 1e9).rounded()
    guard nanoseconds < 0x1p63 else { return .infinite }
    return nanoseconds > -0x1p63 ? .nanoseconds(Int64(nanoseconds)) : .zero
  }

  /// A number of seconds.
  package var inSeconds: Double { Double(seconds) + Double(attoseconds) * 1e-18 }

  /// A number of nanoseconds, rounded up; at most 292 years.
  package var inNanoseconds: Int64 {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    let isRoundedUp = attoseconds > 0 && attoseconds % 1_000_000_000 != 0
    let rest = attoseconds / 1_000_000_000 + (isRoundedUp ? 1 : 0)
    let (sum, hasOverflown) = product.addingReportingOverflow(rest)
    if hasOverflown { return seconds < 0 ? .min : .max }
    return sum
  }

  package static func < (left: TimeSpan, right: TimeSpan) -> Bool {
    (left.seconds, left.attoseconds) < (right.seconds, right.attoseconds)
  }

  /// To the nearest nanosecond.
  package static func * (left: TimeSpan, factor: Double) -> TimeSpan {
    .rounding(seconds: left.inSeconds * factor)
  }
}

extension TimeSpan: CustomStringConvertible {
  /// To the nearest nanosecond, so that the sum of the components leaves no trace in the last digits.
  package var description: String { "\((inSeconds * 1e9).rounded() / 1e9) seconds" }
}

extension TimeSpan {
  /// The time of an interval; that of `never` is infinite.
  package init(_ interval: DispatchTimeInterval) {
    switch interval {
    case .seconds(let count): self = .seconds(Int64(count))
    case .milliseconds(let count):
      self.init(
        seconds: Int64(count / 1000), attoseconds: Int64(count % 1000) * 1_000_000_000_000_000)
    case .microseconds(let count):
      self.init(
        seconds: Int64(count / 1_000_000), attoseconds: Int64(count % 1_000_000) * 1_000_000_000_000
      )
    case .nanoseconds(let count): self = .nanoseconds(Int64(count))
    case .never: self = .infinite
    @unknown default: self = .infinite
    }
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension TimeSpan {
  package init(_ duration: Duration) {
    // What has no room in the components counts as infinite.
    guard duration < .seconds(Int64.max), duration > .seconds(Int64.min) else {
      self = duration > .zero ? .infinite : .seconds(.min)
      return
    }
    let (seconds, attoseconds) = duration.components
    self.init(seconds: seconds, attoseconds: attoseconds)
  }

  package var duration: Duration {
    Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
  }
}
