/// The latest calls through a circuit breaker, and whether they are reason to open it: pure
/// bookkeeping.
///
/// Times are in nanoseconds since the breaker was created.
struct CallWindow {
  private let threshold: CircuitBreaker.Threshold.Kind
  private var total = 0
  private var failures = 0
  /// The outcomes of the last calls, whether they failed; a ring once it's full.
  private var outcomes: [Bool] = []
  private var oldest = 0
  /// The calls by time: a ring of parts of the period, the current one last.
  private var parts: [Part] = []

  /// The calls that ended in a part of the period.
  private struct Part {
    let start: Int64
    var total = 0
    var failures = 0
  }

  /// The number of parts of a period: calls leave the window a tenth of it at a time.
  private static let partCount: Int64 = 10

  init(_ threshold: CircuitBreaker.Threshold.Kind) { self.threshold = threshold }

  /// Forgets all calls.
  mutating func clear() { self = CallWindow(threshold) }

  /// Records a call that has ended, and returns whether the circuit must open.
  mutating func record(isFailure: Bool, at now: Int64) -> Bool {
    switch threshold {
    case .consecutive(let limit):
      failures = isFailure ? failures + 1 : 0
      return failures >= limit
    case .last(let count, let rate, let minimum):
      replaceOldest(isFailure, count)
      return isFailure && exceeds(rate, minimum)
    case .period(let length, let rate, let minimum):
      removeParts(before: now, length)
      addToCurrentPart(isFailure, at: now, length)
      return isFailure && exceeds(rate, minimum)
    }
  }

  /// Whether there are enough calls, of which enough failed; never with a rate that isn't a number.
  private func exceeds(_ rate: Double, _ minimum: Int) -> Bool {
    total >= minimum && Double(failures) / Double(total) >= rate
  }

  private mutating func replaceOldest(_ isFailure: Bool, _ count: Int) {
    failures += isFailure ? 1 : 0
    guard outcomes.count == count else {
      outcomes.append(isFailure)
      total += 1
      return
    }
    failures -= outcomes[oldest] ? 1 : 0
    outcomes[oldest] = isFailure
    oldest = (oldest + 1) % count
  }

  private mutating func removeParts(before now: Int64, _ length: Int64) {
    // Two threads can arrive in another order than they read the clock; nothing is removed then.
    let expired = parts.prefix { now - $0.start >= length }
    for part in expired {
      total -= part.total
      failures -= part.failures
    }
    parts.removeFirst(expired.count)
  }

  private mutating func addToCurrentPart(_ isFailure: Bool, at now: Int64, _ length: Int64) {
    let partLength = length / Self.partCount
    if parts.last.map({ now - $0.start > partLength }) ?? true { parts.append(Part(start: now)) }
    total += 1
    failures += isFailure ? 1 : 0
    parts[parts.count - 1].total += 1
    parts[parts.count - 1].failures += isFailure ? 1 : 0
  }
}
