import Dispatch

/// A length of time, on all systems that the library supports; `Duration` requires macOS 13 or
/// iOS 16.
///
/// It's as precise as a `Duration`. Longer times than 64-bit seconds can hold count as infinite.
@usableFromInline
package struct TimeSpan: Hashable, Comparable, Sendable {
  /// Like the components of a `Duration`, the two have the same sign.
  private let seconds: Int64
  private let attoseconds: Int64

  private init(seconds: Int64, attoseconds: Int64) {
    self.seconds = seconds
    self.attoseconds = attoseconds
  }

  package static var zero: TimeSpan { TimeSpan(seconds: 0, attoseconds: 0) }

  /// A time span that never ends.
  package static var infinite: TimeSpan { TimeSpan(seconds: .max, attoseconds: 0) }

  package static func seconds(_ count: Int64) -> TimeSpan {
    TimeSpan(seconds: count, attoseconds: 0)
  }

  package static func nanoseconds(_ count: Int64) -> TimeSpan {
    TimeSpan(seconds: count / 1_000_000_000, attoseconds: count % 1_000_000_000 * 1_000_000_000)
  }

  /// Returns the time span of `seconds`, rounded to the nearest nanosecond; infinite for 292 years
  /// or more.
  package static func rounding(seconds: Double) -> TimeSpan {
    let nanoseconds = (seconds * 1e9).rounded()
    guard nanoseconds < 0x1p63 else { return .infinite }
    return nanoseconds > -0x1p63 ? .nanoseconds(Int64(nanoseconds)) : .zero
  }

  /// The length in seconds.
  package var inSeconds: Double { Double(seconds) + Double(attoseconds) * 1e-18 }

  /// The length in nanoseconds, rounded up and limited to the range of `Int64`, 292 years.
  package var inNanoseconds: Int64 {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    let isRoundedUp = attoseconds > 0 && attoseconds % 1_000_000_000 != 0
    let rest = attoseconds / 1_000_000_000 + (isRoundedUp ? 1 : 0)
    let (sum, hasOverflown) = product.addingReportingOverflow(rest)
    if hasOverflown { return seconds < 0 ? .min : .max }
    return sum
  }

  @usableFromInline
  package static func < (left: TimeSpan, right: TimeSpan) -> Bool {
    (left.seconds, left.attoseconds) < (right.seconds, right.attoseconds)
  }

  /// Returns the difference in nanoseconds; an infinite time span stays infinite.
  static func - (left: TimeSpan, right: TimeSpan) -> TimeSpan {
    if left == .infinite { return left }
    let (difference, overflow) = left.inNanoseconds.subtractingReportingOverflow(
      right.inNanoseconds)
    if overflow { return right < .zero ? .infinite : .seconds(.min) }
    return .nanoseconds(difference)
  }

  /// Returns the product, rounded to the nearest nanosecond.
  package static func * (left: TimeSpan, factor: Double) -> TimeSpan {
    .rounding(seconds: left.inSeconds * factor)
  }
}

extension TimeSpan: CustomStringConvertible {
  /// The length in seconds, rounded to nanoseconds to hide the rounding error of adding the
  /// components.
  @usableFromInline
  package var description: String { "\((inSeconds * 1e9).rounded() / 1e9) seconds" }
}

extension TimeSpan {
  /// Creates the time span of `interval`; `.never` is infinite.
  @usableFromInline
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
  @usableFromInline
  package init(_ duration: Duration) {
    // A duration that doesn't fit in the components counts as infinite.
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
