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
  private let limiter = Limiter(20)
  private let retries = RetryPolicy.exponential(attempts: 2, from: .milliseconds(50)).withJitter()
    .retryingTransientErrors()
    // In the long run, at most a tenth of the requests are retries, and a fifth are hedges.
    .withBudget(RetryBudget(capacity: 10, tokensPerSuccess: 0.1))
  private let hedges = RetryBudget(capacity: 20, tokensPerSuccess: 0.2)
  private let lastResponses = Mutex<[String: String]>([:])

  init(
    of services: [String], hedgeDelay: Duration = .milliseconds(100),
    clock: any Clock<Duration> = ContinuousClock(),
    load: @escaping @Sendable (_ service: String) -> Promise<String>
  ) {
    self.services = services
    self.hedgeDelay = hedgeDelay
    self.clock = clock
    self.load = load
  }

  /// Loads all panels at the same time; a service that fails affects only its own panel.
  func page() -> Guarantee<[String: Panel]> {
    Guarantee.all(services.map(panel)).map { [services] panels in
      Dictionary(uniqueKeysWithValues: zip(services, panels))
    }
  }

  /// From the outside in: a fallback, a time limit for the panel, retries, hedges for each attempt,
  /// and a place in the queue for each request.
  private func panel(_ service: String) -> Guarantee<Panel> {
    Promise.retry(retries, clock: clock) { [self] in
      Promise.hedged(delay: hedgeDelay, budget: hedges, clock: clock) { [self] in
        limiter.run { self.load(service) }
      }
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
