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
    /// | `pledge.limiter.rejected` | counter | operations rejected because the queue was full |
    ///
    /// The metrics have the dimension `limiter`. Limiters with the same name are counted together.
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
      monitors.add(CoalescerMetrics(name, factory).note)
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
    private let rejected: Counter

    init(_ name: String, _ limiter: Limiter, _ factory: any MetricsFactory) {
      let dimensions = [("limiter", name)]
      running = Level(
        Meter(label: "pledge.limiter.running", dimensions: dimensions, factory: factory))
      waiting = Level(
        Meter(label: "pledge.limiter.waiting", dimensions: dimensions, factory: factory))
      rejected = Counter(
        label: "pledge.limiter.rejected", dimensions: dimensions, factory: factory)
      running.change(by: limiter.runningCount)
      waiting.change(by: limiter.waitingCount)
    }

    func note(_ event: LimiterEvent) {
      switch event {
      case .waiting(let change): waiting.change(by: change)
      case .running(let change): running.change(by: change)
      case .rejected: rejected.increment()
      }
    }
  }

  /// The metrics of one coalescer.
  private final class CoalescerMetrics: Sendable {
    private let started: Counter
    private let joined: Counter
    private let cached: Counter
    private let stale: Counter
    private let failedRefreshes: Counter

    init(_ name: String, _ factory: any MetricsFactory) {
      func counter(_ result: String) -> Counter {
        Counter(
          label: "pledge.coalescer.requests",
          dimensions: [("coalescer", name), ("result", result)], factory: factory)
      }
      started = counter("started")
      joined = counter("joined")
      cached = counter("cached")
      stale = counter("stale")
      failedRefreshes = Counter(
        label: "pledge.coalescer.failed_refreshes", dimensions: [("coalescer", name)],
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
