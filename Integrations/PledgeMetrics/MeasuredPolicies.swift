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
    /// dimension `limiter`. Limiters with the same name are counted together, but the limit is that of the
    /// limiter that was measured, or changed its limit, last.
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
      let metrics = NamedMetrics("limiter", name, factory)
      let (running, waiting) = (Level(metrics.meter("running")), Level(metrics.meter("waiting")))
      let (waitTime, runTime) = (metrics.timer("wait"), metrics.timer("run"))
      let rejected = metrics.counter("rejected")
      let limit = metrics.meter("limit")
      limit.set(self.limit)
      running.change(by: runningCount)
      waiting.change(by: waitingCount)
      monitors.add { event in
        switch event {
        case .waiting(let change): waiting.change(by: change)
        case .running(let change): running.change(by: change)
        case .waited(let nanoseconds): waitTime.recordNanoseconds(nanoseconds)
        case .ran(let nanoseconds): runTime.recordNanoseconds(nanoseconds)
        case .rejected: rejected.increment()
        case .limit(let new): limit.set(new)
        }
      }
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
      monitors.add(NamedMetrics("coalescer", name, factory).countRequests())
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
      let metrics = NamedMetrics("loader", name, factory)
      requests.monitors.add(metrics.countRequests())
      let size = metrics.recorder("batch.size")
      let threw = metrics.counter("batch.failures", ("reason", "threw"))
      let mismatch = metrics.counter("batch.failures", ("reason", "mismatch"))
      monitors.add { event in
        switch event {
        case .started(let keys): size.record(keys)
        case .failed: threw.increment()
        case .mismatched: mismatch.increment()
        }
      }
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
      let metrics = NamedMetrics("breaker", name, factory)
      let succeeded = metrics.counter("calls", ("result", "success"))
      let failed = metrics.counter("calls", ("result", "failure"))
      let cancelled = metrics.counter("calls", ("result", "cancelled"))
      let rejected = metrics.counter("calls", ("result", "rejected"))
      let opened = metrics.counter("opened")
      let open = metrics.meter("open")
      monitors.add { event in
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

  /// The metrics of a policy with a name, all with that name as a dimension.
  private struct NamedMetrics {
    private let kind: String
    private let name: String
    private let factory: any MetricsFactory

    init(_ kind: String, _ name: String, _ factory: any MetricsFactory) {
      self.kind = kind
      self.name = name
      self.factory = factory
    }

    func counter(_ label: String, _ others: (String, String)...) -> Counter {
      Counter(
        label: "pledge.\(kind).\(label)", dimensions: [(kind, name)] + others, factory: factory)
    }

    func meter(_ label: String) -> Meter {
      Meter(label: "pledge.\(kind).\(label)", dimensions: [(kind, name)], factory: factory)
    }

    func timer(_ label: String) -> Metrics.Timer {
      Metrics.Timer(label: "pledge.\(kind).\(label)", dimensions: [(kind, name)], factory: factory)
    }

    func recorder(_ label: String) -> Recorder {
      Recorder(
        label: "pledge.\(kind).\(label)", dimensions: [(kind, name)], aggregate: true,
        factory: factory)
    }

    /// Returns a monitor that counts the requests to a coalescer or a loader.
    func countRequests() -> @Sendable (CoalescerEvent) -> Void {
      let started = counter("requests", ("result", "started"))
      let joined = counter("requests", ("result", "joined"))
      let cached = counter("requests", ("result", "cached"))
      let stale = counter("requests", ("result", "stale"))
      let failedRefreshes = counter("failed_refreshes")
      return { event in
        switch event {
        case .started: started.increment()
        case .joined: joined.increment()
        case .cached: cached.increment()
        case .stale: stale.increment()
        case .refreshFailed: failedRefreshes.increment()
        }
      }
    }
  }

  /// A meter whose changes are reverted when this object is deallocated.
  private final class Level: Sendable {
    private let meter: Meter
    private let value = Atomic(0)

    init(_ meter: Meter) { self.meter = meter }

    deinit { change(by: -value.load(ordering: .relaxed)) }

    func change(by amount: Int) {
      _ = value.wrappingAdd(amount, ordering: .relaxed)
      if amount > 0 { meter.increment(by: Double(amount)) }
      if amount < 0 { meter.decrement(by: Double(-amount)) }
    }
  }
#endif
