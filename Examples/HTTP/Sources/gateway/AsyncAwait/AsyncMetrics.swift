import Metrics

// The metrics of PledgeMetrics for a limiter, a coalescer, and retries, for those of this folder.

struct AsyncLimiterMetrics: Sendable {
  let running: Meter
  let waiting: Meter
  let waitTime: Metrics.Timer
  let runTime: Metrics.Timer
  let rejected: Counter

  init(_ name: String, factory: any MetricsFactory) {
    let dimensions = [("limiter", name)]
    running = Meter(label: "async.limiter.running", dimensions: dimensions, factory: factory)
    waiting = Meter(label: "async.limiter.waiting", dimensions: dimensions, factory: factory)
    waitTime = Metrics.Timer(label: "async.limiter.wait", dimensions: dimensions, factory: factory)
    runTime = Metrics.Timer(label: "async.limiter.run", dimensions: dimensions, factory: factory)
    rejected = Counter(label: "async.limiter.rejected", dimensions: dimensions, factory: factory)
  }
}

struct AsyncCoalescerMetrics: Sendable {
  let started: Counter
  let joined: Counter
  let cached: Counter
  let stale: Counter
  let failedRefreshes: Counter

  init(_ name: String, factory: any MetricsFactory) {
    func counter(_ result: String) -> Counter {
      Counter(
        label: "async.coalescer.requests", dimensions: [("coalescer", name), ("result", result)],
        factory: factory)
    }
    started = counter("started")
    joined = counter("joined")
    cached = counter("cached")
    stale = counter("stale")
    failedRefreshes = Counter(
      label: "async.coalescer.failed_refreshes", dimensions: [("coalescer", name)],
      factory: factory)
  }
}

struct AsyncRetryMetrics: Sendable {
  let retries: Counter
  let exhausted: Counter

  init(_ name: String, factory: any MetricsFactory) {
    let dimensions = [("policy", name)]
    retries = Counter(label: "async.retries", dimensions: dimensions, factory: factory)
    exhausted = Counter(label: "async.retries.exhausted", dimensions: dimensions, factory: factory)
  }
}
