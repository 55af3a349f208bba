#if Metrics
  import Metrics
  import Pledge

  /// Metrics about the promises of the process, for swift-metrics.
  public enum PromiseMetrics {
    /// Starts counting events, until the program ends.
    ///
    /// Call it once, when the program starts, after `MetricsSystem.bootstrap`. If you call it
    /// again, each event is also counted in the metrics of the second factory, or twice if the
    /// factory is the same.
    ///
    /// | metric | kind | counts |
    /// |---|---|---|
    /// | `pledge.retries` | counter | attempts of `retry` after the first |
    /// | `pledge.retries.exhausted` | counter | operations of `retry` that failed after their last attempt |
    /// | `pledge.hedges` | counter | attempts of `hedged` after the first |
    /// | `pledge.timers.pending` | meter | timers that have been started and are still needed |
    /// | `pledge.timers.fired` | counter | timers that have fired |
    /// | `pledge.unhandled_rejections` | counter | rejections that no handler has received |
    ///
    /// Retries with a named policy have the dimension `policy`: see
    /// ``Pledge/RetryPolicy/measured(as:factory:)``. Limiters and coalescers are counted
    /// separately: see ``Pledge/Limiter/measured(as:factory:)`` and
    /// ``Pledge/RequestCoalescer/measured(as:factory:)``.
    ///
    /// **Execution.** The metrics change on the threads on which the events happen or, for events of
    /// timers, on the global queue.
    ///
    /// - Parameter factory: The factory that creates the metrics.
    public static func start(factory: any MetricsFactory = MetricsSystem.factory) {
      let metrics = ProcessMetrics(factory)
      Monitoring.policies.add(metrics.note)
      Monitoring.timers.add(metrics.note)
      Monitoring.unhandledRejections.add { metrics.unhandled.increment() }
    }
  }

  /// The metrics of the process.
  private final class ProcessMetrics: Sendable {
    private let retries: RetryMetrics
    private let hedges: Counter
    private let timersPending: Meter
    private let timersFired: Counter
    let unhandled: Counter

    init(_ factory: any MetricsFactory) {
      retries = RetryMetrics(dimensions: [], factory)
      hedges = Counter(label: "pledge.hedges", factory: factory)
      timersPending = Meter(label: "pledge.timers.pending", factory: factory)
      timersFired = Counter(label: "pledge.timers.fired", factory: factory)
      unhandled = Counter(label: "pledge.unhandled_rejections", factory: factory)
    }

    func note(_ event: PolicyEvent) {
      switch event {
      case .retried, .gaveUp: retries.note(event)
      case .hedged: hedges.increment()
      }
    }

    func note(_ event: TimerEvent) {
      switch event {
      case .started: timersPending.increment()
      case .fired: timersFired.increment()
      case .ended: timersPending.decrement()
      }
    }
  }

  /// The metrics of the operations with one named policy, or of those without a named policy.
  final class RetryMetrics: Sendable {
    private let retries: Counter
    private let exhausted: Counter

    init(dimensions: [(String, String)], _ factory: any MetricsFactory) {
      retries = Counter(label: "pledge.retries", dimensions: dimensions, factory: factory)
      exhausted = Counter(
        label: "pledge.retries.exhausted", dimensions: dimensions, factory: factory)
    }

    func note(_ event: PolicyEvent) {
      switch event {
      case .retried: retries.increment()
      case .gaveUp: exhausted.increment()
      case .hedged: break
      }
    }
  }
#endif
