import Metrics

/// The metrics of one backend, for swift-metrics.
struct BackendMetrics: Sendable {
  let calls: Counter
  let hedges: Counter
  let failures: Counter
  let rejected: Counter
  let running: Gauge
  let waiting: Gauge
  let latency: Metrics.Timer

  init(backend: String, endpoint: String, registry: PrometheusRegistry) {
    let dimensions = [("backend", backend), ("endpoint", endpoint)]
    func counter(_ label: String) -> Counter {
      Counter(label: label, dimensions: dimensions, factory: registry)
    }
    func gauge(_ label: String) -> Gauge {
      Gauge(
        label: label, dimensions: dimensions, aggregate: false,
        handler: registry.makeRecorder(label: label, dimensions: dimensions, aggregate: false))
    }
    calls = counter("backend_calls_total")
    hedges = counter("backend_hedges_total")
    failures = counter("backend_failures_total")
    rejected = counter("backend_rejected_total")
    running = gauge("backend_running")
    waiting = gauge("backend_waiting")
    latency = Metrics.Timer(
      label: "backend_call_seconds", dimensions: dimensions, factory: registry)
  }
}
