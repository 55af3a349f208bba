import AsyncHTTPClient
import Foundation
import Logging
import Pledge
import PledgeAsyncHTTPClient
import PledgeDiagnostics
import PledgeMetrics
import PledgeTracing

/// The client of one backend, which is sometimes slow and sometimes fails.
final class Backend<Part: Decodable & Sendable>: Sendable {
  let name: String
  let limiter: Limiter
  let address: Promise<String>
  let client: HTTPClient
  let metrics: BackendMetrics
  let retries: RetryPolicy
  let hedgeDelay: HedgeDelay?
  let hedgeBudget: RetryBudget

  init(name: String, address: Promise<String>, settings: Settings, services: SharedServices) {
    (self.name, self.address) = (name, address)
    client = services.client
    metrics = BackendMetrics(backend: name, factory: services.metrics)
    limiter = Limiter(settings.concurrency, queueCapacity: settings.queueCapacity)
      .measured(as: name, factory: services.metrics)
    // At most one retry for ten successes: retries must not double the load of a failing backend.
    retries = .exponential(attempts: settings.attempts, from: .milliseconds(10))
      .withJitter()
      .retrying { error in isWorthRetrying(error) }
      .withBudget(RetryBudget(capacity: 20, tokensPerSuccess: 0.1))
      .measured(as: name, factory: services.metrics)
    hedgeDelay = settings.hedgeDelay.map { HedgeDelay(minimum: $0) }
    hedgeBudget = RetryBudget(
      capacity: settings.hedgeReserve, tokensPerSuccess: settings.hedgeRatio)
  }

  /// Returns a promise for this backend's part of page `id`.
  ///
  /// From the outside in: up to three attempts, each with a place in the limiter while it runs, and
  /// each with at most two HTTP calls, the second one if the first is slow.
  ///
  /// The closures on `.immediate` only start the next step, so they run in place, on the current
  /// thread. On a queue, each of them would cost a change of thread. Decoding is work, so it has no
  /// `on:` and runs on the global queue: the event loop on which the response arrives has the calls of
  /// other requests to send and receive.
  func get(_ id: Int, by deadline: Deadline) -> Promise<Part> {
    Promise.retry(on: .immediate, retries) { [self] in
      limiter.run(on: .immediate) { self.hedgedCall(id, by: deadline) }
        .map { response in try decode(Part.self, from: response) }
        .watch(on: .immediate) { result in
          if case .failure(let error) = result { self.note(error, id) }
        }
    }
    .named("\(name) \(id)")
  }

  /// Starts a call again if it takes too long, within a budget.
  private func hedgedCall(_ id: Int, by deadline: Deadline) -> Promise<HTTPClient.Response> {
    let start = ContinuousClock.now
    guard let hedgeDelay else { return call(id, by: deadline, since: start) }
    let calls = AtomicCounter()
    let delay = hedgeDelay.current
    return Promise.hedged(on: .immediate, delay: delay, budget: hedgeBudget) { [self] in
      if calls.increment() > 1 { noteHedge(id, delay) }
      return call(id, by: deadline, since: start)
    }
  }

  /// One HTTP call, the first of which started at `start`.
  private func call(
    _ id: Int, by deadline: Deadline, since start: ContinuousClock.Instant
  ) -> Promise<HTTPClient.Response> {
    metrics.calls.increment()
    return
      address
      .then(on: .immediate) { [client] address in
        client.load(
          try backendRequest("\(address)/\(id)", by: deadline), upTo: maximumBodySize,
          deadline: deadline.nio, logger: .current)
      }
      .traced(as: name, ofKind: .client)
      .map(on: .immediate) { response in try self.noted(response, id, since: start) }
  }

  // MARK: - Metrics and logs

  func noteHedge(_ id: Int, _ delay: Duration) {
    metrics.hedges.increment()
    Logger.current.debug("\(name) \(id) is called again: no response within \(delay)")
  }

  /// Returns the response to a call that started at `start`, if its status is 200.
  func noted(
    _ response: HTTPClient.Response, _ id: Int, since start: ContinuousClock.Instant
  ) throws -> HTTPClient.Response {
    let latency = start.duration(to: .now)
    hedgeDelay?.note(latency)
    metrics.latency.record(duration: latency)
    Logger.current.debug("\(name) \(id): status \(response.status.code) after \(start.elapsed)")
    guard response.status == .ok else { throw BackendError(backend: name, status: response.status) }
    return response
  }

  func note(_ error: any Error, _ id: Int) {
    if error is CancellationError { return }
    if error is Limiter.QueueFullError { metrics.rejected.increment() }
    metrics.failures.increment()
    Logger.current.info("\(name) \(id) failed: \(error)")
  }
}
