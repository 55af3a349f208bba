/// The concurrency limit of a limiter that finds it itself: pure bookkeeping that calls no other
/// code.
///
/// Up to the capacity of a service, more operations at a time don't make each of them slower; beyond
/// it, they wait for each other, and the latency grows in proportion. So the limit grows while the
/// latency stays near a *baseline*, and shrinks with the ratio of the two when it exceeds that. The
/// baseline is measured from time to time with half as many operations, so that the queue that it is
/// compared with is empty; and again when the limit has shrunk much, because the service itself may
/// have become slower.
///
/// Times are in nanoseconds since the limiter was created.
struct AdaptiveLimit {
  /// What the end of an operation says about the service.
  enum Sample {
    /// It has responded to an operation that started at a time.
    case response(start: Int64)
    /// It was too slow for an operation that started at a time, or has rejected it.
    case overload(start: Int64)
    /// Nothing: the operation was cancelled, or failed otherwise.
    case ignored
  }

  private enum Phase {
    /// Waits until the operations that started with the full limit have ended.
    case draining
    case measuring
    /// Follows the latency for this number of further windows.
    case following(Int)
  }

  /// The operations that started after a time.
  private struct Window {
    var start: Int64
    var count = 0
    var totalLatency = 0.0
    var mostRunning: Int
  }

  private let range: ClosedRange<Int>
  private var estimate: Double
  private var phase = Phase.draining
  private var window = Window(start: 0, mostRunning: 0)
  /// The latency without a queue, in nanoseconds; nil before the first measurement.
  private var baseline: Double?
  /// The estimate at the last measurement.
  private var measuredEstimate: Double
  /// The number of windows until the next measurement.
  private var interval = 2

  /// The ratio of the latency to the baseline above which operations wait for each other.
  private static let tolerance = 1.05
  /// The number of operations whose mean latency is precise enough.
  private static let sampleCount = 100
  private static let longestInterval = 20

  init(_ range: ClosedRange<Int>, initial: Int) {
    // Up to a million, so that each limit is an exact `Double`.
    let lowest = min(max(range.lowerBound, 1), 1_000_000)
    self.range = lowest...min(max(range.upperBound, lowest), 1_000_000)
    estimate = Double(min(max(initial, self.range.lowerBound), self.range.upperBound))
    measuredEstimate = estimate
  }

  /// The number of operations that the service can run at the same time, as far as it is known.
  var current: Int { Int(estimate) }

  /// The number of operations that can run now.
  var limit: Int {
    if case .following = phase { return current }
    return max(current / 2, range.lowerBound)
  }

  /// Continues with another estimate.
  mutating func restart(at limit: Int) {
    estimate = Double(min(max(limit, range.lowerBound), range.upperBound))
    measuredEstimate = estimate
  }

  mutating func noteStart(running: Int) { window.mostRunning = max(window.mostRunning, running) }

  /// Records the end of an operation.
  mutating func noteEnd(_ sample: Sample, at now: Int64, running: Int) {
    switch sample {
    case .ignored: return
    case .overload(let start):
      // The other operations of that time have met the same overload.
      guard start >= window.start else { return }
      change(to: estimate * 0.9)
      window = Window(start: now, mostRunning: running)
    case .response(let start):
      guard start >= window.start else { return }
      window.count += 1
      window.totalLatency += Double(now - start)
      guard isWindowFull else { return }
      endWindow(window.totalLatency / Double(window.count))
      window = Window(start: now, mostRunning: running)
    }
  }

  private var isWindowFull: Bool {
    if case .draining = phase { return window.count >= limit }
    return window.count >= max(limit, Self.sampleCount)
  }

  /// Changes the estimate after a window with this mean latency.
  private mutating func endWindow(_ latency: Double) {
    switch phase {
    case .draining: phase = .measuring
    case .measuring:
      noteBaseline(latency)
      measuredEstimate = estimate
      phase = .following(interval)
      interval = min(interval * 2, Self.longestInterval)
    case .following(let rest):
      let ratio = Self.tolerance * (baseline ?? latency) / latency
      if ratio < 1 {
        change(to: estimate * (1 + max(ratio, 0.5)) / 2)
      } else if 2 * window.mostRunning >= current {
        // Otherwise, the limit isn't what limits the operations.
        change(to: estimate + max(1, estimate / 20))
      }
      phase = rest <= 1 || estimate < 0.6 * measuredEstimate ? .draining : .following(rest - 1)
    }
  }

  private mutating func noteBaseline(_ latency: Double) {
    guard let old = baseline else {
      baseline = latency
      return
    }
    // Small differences are noise; large ones, another service time.
    let isNoise = latency > 0.7 * old && latency < 1.5 * old
    baseline = isNoise ? (old + latency) / 2 : latency
  }

  private mutating func change(to new: Double) {
    estimate = min(max(new, Double(range.lowerBound)), Double(range.upperBound))
  }
}
