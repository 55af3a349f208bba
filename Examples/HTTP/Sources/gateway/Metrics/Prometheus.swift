import CoreMetrics
import Synchronization

/// Exports the metrics of swift-metrics as text for Prometheus: counters, gauges, and histograms of
/// times.
///
/// A part of the example, and not of Pledge: a program uses an exporter's package, such as
/// swift-prometheus, in its place.
final class PrometheusRegistry: MetricsFactory {
  private let series = Mutex<[Identity: any Series]>([:])

  /// Returns the current values, in the text format of Prometheus.
  func text() -> String {
    let series = series.withLock { $0 }.sorted { $0.key < $1.key }
    var lines: [String] = []
    var last: String?
    for (identity, metric) in series {
      if identity.label != last { lines.append("# TYPE \(identity.label) \(metric.type)") }
      last = identity.label
      lines += metric.lines(identity)
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func series<Metric: Series>(
    _ label: String, _ dimensions: [(String, String)], _ make: () -> Metric
  ) -> Metric {
    let identity = Identity(label: label, dimensions: dimensions)
    return series.withLock { series in
      if let found = series[identity] as? Metric { return found }
      let new = make()
      series[identity] = new
      return new
    }
  }

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    series(label, dimensions) { CounterSeries() }
  }

  func makeRecorder(
    label: String, dimensions: [(String, String)], aggregate: Bool
  ) -> any RecorderHandler { series(label, dimensions) { GaugeSeries() } }

  func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    series(label, dimensions) { GaugeSeries() }
  }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    series(label, dimensions) { HistogramSeries() }
  }

  // Metrics live as long as the server.
  func destroyCounter(_ handler: any CounterHandler) {}
  func destroyRecorder(_ handler: any RecorderHandler) {}
  func destroyMeter(_ handler: any MeterHandler) {}
  func destroyTimer(_ handler: any TimerHandler) {}
}

/// The name of a metric and the values of its labels, in the format of Prometheus.
private struct Identity: Hashable, Comparable {
  let label: String
  let labels: String

  init(label: String, dimensions: [(String, String)]) {
    // Names of Prometheus have no dots.
    self.label = String(label.map { $0 == "." ? "_" : $0 })
    labels = dimensions.map { "\($0)=\"\($1)\"" }.joined(separator: ",")
  }

  func line(_ suffix: String = "", _ extra: String? = nil, _ value: some Any) -> String {
    let all = [labels, extra ?? ""].filter { !$0.isEmpty }.joined(separator: ",")
    return "\(label)\(suffix)\(all.isEmpty ? "" : "{\(all)}") \(value)"
  }

  static func < (a: Self, b: Self) -> Bool { (a.label, a.labels) < (b.label, b.labels) }
}

private protocol Series: AnyObject, Sendable {
  var type: String { get }
  func lines(_ identity: Identity) -> [String]
}

private final class CounterSeries: CounterHandler, Series {
  private let value = Atomic<Int64>(0)
  let type = "counter"

  func increment(by amount: Int64) { value.add(amount, ordering: .relaxed) }
  func reset() { value.store(0, ordering: .relaxed) }
  func lines(_ identity: Identity) -> [String] {
    [identity.line("", nil, value.load(ordering: .relaxed))]
  }
}

private final class GaugeSeries: RecorderHandler, MeterHandler, Series {
  private let value = Mutex(0.0)
  let type = "gauge"

  func record(_ new: Int64) { record(Double(new)) }
  func record(_ new: Double) { value.withLock { $0 = new } }
  func set(_ new: Int64) { record(Double(new)) }
  func set(_ new: Double) { record(new) }
  func increment(by amount: Double) { value.withLock { $0 += amount } }
  func decrement(by amount: Double) { value.withLock { $0 -= amount } }
  func lines(_ identity: Identity) -> [String] { [identity.line("", nil, value.withLock { $0 })] }
}

private final class HistogramSeries: TimerHandler, Series {
  private struct State {
    var counts = [Int](repeating: 0, count: HistogramSeries.bounds.count)
    var count = 0
    var sum = 0.0
  }

  /// The upper bounds of the buckets, in seconds.
  static let bounds = [
    0.001, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1,
    2.5, 5,
  ]

  private let state = Mutex(State())
  let type = "histogram"

  func recordNanoseconds(_ nanoseconds: Int64) {
    let seconds = Double(nanoseconds) / 1e9
    let index = Self.bounds.firstIndex { seconds <= $0 }
    state.withLock { state in
      if let index { state.counts[index] += 1 }
      state.count += 1
      state.sum += seconds
    }
  }

  func lines(_ identity: Identity) -> [String] {
    let state = state.withLock { $0 }
    var total = 0
    var lines: [String] = []
    for (bound, count) in zip(Self.bounds, state.counts) {
      total += count
      lines.append(identity.line("_bucket", "le=\"\(bound)\"", total))
    }
    lines.append(identity.line("_bucket", "le=\"+Inf\"", state.count))
    lines.append(identity.line("_sum", nil, state.sum))
    lines.append(identity.line("_count", nil, state.count))
    return lines
  }
}
