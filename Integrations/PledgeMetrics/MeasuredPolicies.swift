#if Metrics
  import Metrics
  @_spi(DropIns) import Pledge

  extension Limiter {
    /// Counts the operations of this limiter in metrics.
    ///
    /// ```swift
    /// let limiter = Limiter(8, queueCapacity: 100).measured(as: "database")
    /// ```
    ///
    /// | metric | kind | counts |
    /// |---|---|---|
    /// | `pledge.limiter.running` | meter | running operations |
    /// | `pledge.limiter.waiting` | meter | waiting operations |
    /// | `pledge.limiter.wait` | timer | how long each operation waited before it started |
    /// | `pledge.limiter.run` | timer | how long each operation ran |
    /// | `pledge.limiter.rejected` | counter | operations rejected because the queue was full |
    /// | `pledge.limiter.limit` | meter | the limit of running operations, which can be adaptive |
    ///
    /// An operation that didn't have to wait has waited for zero nanoseconds. The metrics have the
    /// dimension `limiter`. Limiters with the same name are counted together.
    /// Call this before you use the limiter.
    ///
    /// - Parameters:
    ///   - name: The value of the dimension.
    ///   - factory: The factory that creates the metrics.
    /// - Returns: This limiter.
    @discardableResult
    public func measured(
      as name: String, factory: any MetricsFactory = MetricsSystem.factory
    ) -> Limiter {
      monitors.add(LimiterMetrics(name, self, factory).note)
      return self
    }
  }

  extension RequestCoalescer {
    /// Counts the requests to this coalescer in metrics.
    ///
    /// The counter `pledge.coalescer.requests` has the dimensions `coalescer` and `result`:
    ///
    /// | `result` | the request |
    /// |---|---|
    /// | `started` | started work |
    /// | `joined` | joined work that was in progress |
    /// | `cached` | received a cached value |
    /// | `stale` | received a stale value; this or another request has started work to replace it |
    ///
    /// The counter `pledge.coalescer.failed_refreshes` has the dimension `coalescer`: it counts
    /// work that was to replace a stale value and failed.
    ///
    /// - Parameters:
    ///   - name: The value of the dimension `coalescer`.
    ///   - factory: The factory that creates the metrics.
    /// - Returns: This coalescer.
    @discardableResult
    public func measured(
      as name: String, factory: any MetricsFactory = MetricsSystem.factory
    ) -> RequestCoalescer {
      monitors.add(CoalescerMetrics("coalescer", name, factory).note)
      return self
    }
  }

  extension DataLoader {
    /// Counts the requests to this loader, and its batches, in metrics.
    ///
    /// | metric | kind | counts |
    /// |---|---|---|
    /// | `pledge.loader.requests` | counter | requests, with the dimension `result`, as for a ``Pledge/RequestCoalescer`` |
    /// | `pledge.loader.failed_refreshes` | counter | keys that were to replace a stale value and failed |
    /// | `pledge.loader.batch.size` | recorder | the number of keys of a batch |
    /// | `pledge.loader.batch.failures` | counter | batches, with the dimension `reason`: the batch function `threw` an error, or its results were a `mismatch` |
    ///
    /// The metrics have the dimension `loader`.
    ///
    /// - Parameters:
    ///   - name: The value of the dimension `loader`.
    ///   - factory: The factory that creates the metrics.
    /// - Returns: This loader.
    @discardableResult
    public func measured(
      as name: String, factory: any MetricsFactory = MetricsSystem.factory
    ) -> DataLoader {
      requests.monitors.add(CoalescerMetrics("loader", name, factory).note)
      monitors.add(LoaderMetrics(name, factory).note)
      return self
    }
  }

  extension CircuitBreaker {
    /// Counts the calls through this circuit breaker in metrics.
    ///
    /// | metric | kind | counts |
    /// |---|---|---|
    /// | `pledge.breaker.calls` | counter | calls, with the dimension `result`: `success`, `failure`, `cancelled`, or `rejected` |
    /// | `pledge.breaker.opened` | counter | how often the breaker has opened |
    /// | `pledge.breaker.open` | meter | 1 while it's open, 0.5 while it's half-open, 0 while it's closed |
    ///
    /// The metrics have the dimension `breaker`. A breaker whose open duration has passed counts as
    /// open until the first probe starts. Call this before you use the breaker.
    ///
    /// - Parameters:
    ///   - name: The value of the dimension.
    ///   - factory: The factory that creates the metrics.
    /// - Returns: This breaker.
    @discardableResult
    public func measured(
      as name: String, factory: any MetricsFactory = MetricsSystem.factory
    ) -> CircuitBreaker {
      monitors.add(CircuitMetrics(name, factory).note)
      return self
    }
  }

  extension RetryPolicy {
    /// Returns this policy, whose retries are counted with the dimension `policy`.
    ///
    /// The counters are `pledge.retries` and `pledge.retries.exhausted`, as in ``PromiseMetrics``,
    /// which then doesn't count these retries without the dimension. Call it once for each policy,
    /// and not for each operation, because it creates the counters.
    ///
    /// - Parameters:
    ///   - name: The value of the dimension.
    ///   - factory: The factory that creates the metrics.
    public func measured(
      as name: String, factory: any MetricsFactory = MetricsSystem.factory
    ) -> RetryPolicy {
      var policy = self
      policy.monitor = RetryMetrics(dimensions: [("policy", name)], factory).note
      return policy
    }
  }

  /// The metrics of one limiter.
  private final class LimiterMetrics: Sendable {
    /// A meter whose changes are reverted when this object is deallocated.
    private struct Level: ~Copyable {
      let meter: Meter
      private let value = Atomic(0)

      init(_ meter: Meter) { self.meter = meter }

      deinit { change(by: -value.load(ordering: .relaxed)) }

      borrowing func change(by amount: Int) {
        _ = value.wrappingAdd(amount, ordering: .relaxed)
        if amount > 0 { meter.increment(by: Double(amount)) }
        if amount < 0 { meter.decrement(by: Double(-amount)) }
      }
    }

    private let running: Level
    private let waiting: Level
    private let waitingTime: Metrics.Timer
    private let runningTime: Metrics.Timer
    private let rejected: Counter
    private let limit: Meter

    init(_ name: String, _ limiter: Limiter, _ factory: any MetricsFactory) {
      let dimensions = [("limiter", name)]
      limit = Meter(label: "pledge.limiter.limit", dimensions: dimensions, factory: factory)
      running = Level(
        Meter(label: "pledge.limiter.running", dimensions: dimensions, factory: factory))
      waiting = Level(
        Meter(label: "pledge.limiter.waiting", dimensions: dimensions, factory: factory))
      waitingTime = Metrics.Timer(
        label: "pledge.limiter.wait", dimensions: dimensions, factory: factory)
      runningTime = Metrics.Timer(
        label: "pledge.limiter.run", dimensions: dimensions, factory: factory)
      rejected = Counter(
        label: "pledge.limiter.rejected", dimensions: dimensions, factory: factory)
      limit.set(limiter.limit)
      running.change(by: limiter.runningCount)
      waiting.change(by: limiter.waitingCount)
    }

    func note(_ event: LimiterEvent) {
      switch event {
      case .waiting(let change): waiting.change(by: change)
      case .running(let change): running.change(by: change)
      case .waited(let nanoseconds): waitingTime.recordNanoseconds(nanoseconds)
      case .ran(let nanoseconds): runningTime.recordNanoseconds(nanoseconds)
      case .rejected: rejected.increment()
      case .limit(let new): limit.set(new)
      }
    }
  }

  /// The metrics of one circuit breaker.
  private final class CircuitMetrics: Sendable {
    private let succeeded: Counter
    private let failed: Counter
    private let cancelled: Counter
    private let rejected: Counter
    private let opened: Counter
    private let open: Meter

    init(_ name: String, _ factory: any MetricsFactory) {
      func counter(_ result: String) -> Counter {
        Counter(
          label: "pledge.breaker.calls", dimensions: [("breaker", name), ("result", result)],
          factory: factory)
      }
      succeeded = counter("success")
      failed = counter("failure")
      cancelled = counter("cancelled")
      rejected = counter("rejected")
      opened = Counter(
        label: "pledge.breaker.opened", dimensions: [("breaker", name)], factory: factory)
      open = Meter(label: "pledge.breaker.open", dimensions: [("breaker", name)], factory: factory)
    }

    func note(_ event: CircuitEvent) {
      switch event {
      case .rejected: rejected.increment()
      case .ended(.success): succeeded.increment()
      case .ended(.failure): failed.increment()
      case .ended(.ignored): cancelled.increment()
      case .changed(.closed): open.set(0)
      case .changed(.halfOpen): open.set(0.5)
      case .changed(.open):
        opened.increment()
        open.set(1)
      }
    }
  }

  /// The batches of one loader.
  private final class LoaderMetrics: Sendable {
    private let size: Recorder
    private let threw: Counter
    private let mismatch: Counter

    init(_ name: String, _ factory: any MetricsFactory) {
      func failures(_ reason: String) -> Counter {
        Counter(
          label: "pledge.loader.batch.failures",
          dimensions: [("loader", name), ("reason", reason)], factory: factory)
      }
      size = Recorder(
        label: "pledge.loader.batch.size", dimensions: [("loader", name)], aggregate: true,
        factory: factory)
      threw = failures("threw")
      mismatch = failures("mismatch")
    }

    func note(_ event: LoaderEvent) {
      switch event {
      case .started(let keys): size.record(keys)
      case .failed: threw.increment()
      case .mismatched: mismatch.increment()
      }
    }
  }

  /// The metrics of one coalescer, or of the requests to a loader.
  private final class CoalescerMetrics: Sendable {
    private let started: Counter
    private let joined: Counter
    private let cached: Counter
    private let stale: Counter
    private let failedRefreshes: Counter

    init(_ kind: String, _ name: String, _ factory: any MetricsFactory) {
      func counter(_ result: String) -> Counter {
        Counter(
          label: "pledge.\(kind).requests",
          dimensions: [(kind, name), ("result", result)], factory: factory)
      }
      started = counter("started")
      joined = counter("joined")
      cached = counter("cached")
      stale = counter("stale")
      failedRefreshes = Counter(
        label: "pledge.\(kind).failed_refreshes", dimensions: [(kind, name)],
        factory: factory)
    }

    func note(_ event: CoalescerEvent) {
      switch event {
      case .started: started.increment()
      case .joined: joined.increment()
      case .cached: cached.increment()
      case .stale: stale.increment()
      case .refreshFailed: failedRefreshes.increment()
      }
    }
  }
#endif
