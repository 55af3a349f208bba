import Metrics

/// The metrics of one backend that the policies don't have.
struct BackendMetrics: Sendable {
  let calls: Counter
  let hedges: Counter
  let failures: Counter
  let rejected: Counter
  /// The time from the start of a call to the first response, be it to the call or to its hedge.
  let latency: Metrics.Timer

  init(backend: String, factory: any MetricsFactory) {
    let dimensions = [("backend", backend)]
    func counter(_ label: String) -> Counter {
      Counter(label: label, dimensions: dimensions, factory: factory)
    }
    calls = counter("backend_calls_total")
    hedges = counter("backend_hedges_total")
    failures = counter("backend_failures_total")
    rejected = counter("backend_rejected_total")
    latency = Metrics.Timer(label: "backend_call_seconds", dimensions: dimensions, factory: factory)
  }
}
