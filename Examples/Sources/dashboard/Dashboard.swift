import Pledge
import PledgeFoundation
import Synchronization

/// A page that is composed of the responses of several services.
final class Dashboard: Sendable {
  /// What the page shows for a service.
  enum Panel: Sendable, Equatable {
    case fresh(String)
    /// The last response.
    case stale(String)
    case missing
  }

  private let services: [String]
  private let load: @Sendable (_ service: String) -> Promise<String>
  private let clock: any Clock<Duration>
  private let hedgeDelay: Duration
  /// In the long run, at most a fifth of the requests are hedges.
  private let hedges = RetryBudget(capacity: 20, tokensPerSuccess: 0.2)
  private let pipelines: [String: ResiliencePipeline]
  private let lastResponses = Mutex<[String: String]>([:])

  init(
    of services: [String], hedgeDelay: Duration = .milliseconds(100),
    clock: any Clock<Duration> = ContinuousClock(),
    log: @escaping @Sendable (_ event: String) -> Void = { _ in },
    load: @escaping @Sendable (_ service: String) -> Promise<String>
  ) {
    self.services = services
    self.hedgeDelay = hedgeDelay
    self.clock = clock
    self.load = load
    let retries = RetryPolicy.exponential(attempts: 2, from: .milliseconds(50)).withJitter()
      .retryingTransientErrors()
      .withBudget(RetryBudget(capacity: 10, tokensPerSuccess: 0.1))
    // A retry repeats what follows. It waits for a place in the queue, and asks the breaker.
    let pipelines = services.map { service in
      // As many requests at the same time as the service can do without becoming slower.
      let limiter = Limiter(adaptive: 4...100, queueCapacity: 20, clock: clock)
      let breaker = CircuitBreaker(
        .consecutiveFailures(5), openDuration: .seconds(10), clock: clock,
        observer: { state in log("circuit breaker for \(service): \(state)") })
      let pipeline = ResiliencePipeline(
        .retry(retries), .limiter(limiter), .circuitBreaker(breaker), .timeout(.seconds(2)),
        clock: clock)
      return (service, pipeline)
    }
    self.pipelines = Dictionary(uniqueKeysWithValues: pipelines)
  }

  /// Loads all panels at the same time; a service that fails affects only its own panel.
  func page() -> Guarantee<[String: Panel]> {
    Guarantee.all(services.map(panel)).map { [services] panels in
      Dictionary(uniqueKeysWithValues: zip(services, panels))
    }
  }

  /// From the outside in: a fallback, a time limit for the panel, a second request if the first is
  /// slow, and the pipeline of the service.
  private func panel(_ service: String) -> Guarantee<Panel> {
    Promise.hedged(delay: hedgeDelay, budget: hedges, clock: clock) { [self] in
      (pipelines[service] ?? ResiliencePipeline()).run { self.load(service) }
    }
    .timeout(after: .seconds(3), clock: clock)
    .map { response -> Panel in
      self.lastResponses.withLock { $0[service] = response }
      return .fresh(response)
    }
    .replaceError { _ in
      self.lastResponses.withLock { $0[service] }.map { last in .stale(last) } ?? .missing
    }
  }
}
