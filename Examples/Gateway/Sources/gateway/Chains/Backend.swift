import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import Pledge
import PledgeDiagnostics
import PledgeNIO

/// The client of one backend, which is sometimes slow and sometimes fails.
final class Backend<Part: Decodable & Sendable>: Sendable {
  let name: String
  let limiter: Limiter

  private let address: Promise<String>
  private let client: HTTPClient
  private let metrics: BackendMetrics
  private let retries: RetryPolicy
  private let hedgeDelay: Duration?
  private let hedgeBudget: RetryBudget

  init(name: String, address: Promise<String>, settings: Settings, services: SharedServices) {
    self.name = name
    self.address = address
    client = services.client
    let metrics = BackendMetrics(
      backend: name, endpoint: "page", registry: services.metrics)
    let limiter = Limiter(settings.concurrency, queueCapacity: settings.queueCapacity)
    services.metrics.beforeScrape {
      metrics.running.record(limiter.runningCount)
      metrics.waiting.record(limiter.waitingCount)
    }
    self.metrics = metrics
    self.limiter = limiter
    // At most one retry for ten successes: retries must not double the load of a failing backend.
    retries = .exponential(attempts: settings.attempts, from: .milliseconds(10))
      .withJitter()
      .retrying { error in isWorthRetrying(error) }
      .withBudget(RetryBudget(capacity: 20, tokensPerSuccess: 0.1))
    hedgeDelay = settings.hedgeDelay
    hedgeBudget = RetryBudget(
      capacity: settings.hedgeReserve, tokensPerSuccess: settings.hedgeRatio)
  }

  /// Returns a promise for this backend's part of page `id`.
  ///
  /// From the outside in: up to three attempts, each with a place in the limiter while it runs, and
  /// each with at most two HTTP calls, the second one if the first is slow.
  ///
  /// These closures only start the next step, so they run in place, on the current thread. On a
  /// queue, each of them would cost a change of thread.
  func get(_ id: Int, by deadline: Deadline) -> Promise<Part> {
    Promise.retry(on: .immediate, retries) { [self] in
      limiter.run(on: .immediate) { self.hedged(id) { self.call(id, by: deadline) } }
        .watch(on: .immediate) { result in
          if case .failure(let error) = result { self.note(error, id) }
        }
    }
    .named("\(name) \(id)")
  }

  /// Starts `call` again if it takes too long, within a budget.
  private func hedged(
    _ id: Int, _ call: @escaping @Sendable () -> Promise<Part>
  ) -> Promise<Part> {
    guard let hedgeDelay else { return call() }
    let calls = AtomicCounter()
    return Promise.hedged(on: .immediate, delay: hedgeDelay, budget: hedgeBudget) {
      [name, metrics] in
      if calls.increment() > 1 {
        metrics.hedges.increment()
        Logger.current.debug("\(name) \(id) is called again: no response within \(hedgeDelay)")
      }
      return call()
    }
  }

  /// One HTTP call.
  ///
  /// Responses are small, so they are decoded on the event loop on which they arrive.
  private func call(_ id: Int, by deadline: Deadline) -> Promise<Part> {
    metrics.calls.increment()
    let start = ContinuousClock.now
    return
      address
      .then(on: .immediate) { [client] address in
        try client.send(backendRequest("\(address)/\(id)", by: deadline), by: deadline)
      }
      .map(on: .immediate) { [name, metrics] response in
        metrics.latency.record(duration: start.duration(to: .now))
        Logger.current.debug(
          "\(name) \(id): status \(response.status.code) after \(start.elapsed)")
        return try decode(Part.self, from: response.body, status: response.status, of: name)
      }
  }

  private func note(_ error: any Error, _ id: Int) {
    if error is CancellationError { return }
    if error is Limiter.QueueFullError { metrics.rejected.increment() }
    metrics.failures.increment()
    Logger.current.info("\(name) \(id) failed: \(error)")
  }
}

extension HTTPClient {
  /// Returns a promise for the response to `request`; cancelling the promise cancels the request.
  func send(_ request: Request, by deadline: Deadline) -> Promise<Response> {
    let task = execute(
      request: request, delegate: ResponseAccumulator(request: request), deadline: deadline.nio,
      logger: .current)
    return task.futureResult.promise(onCancel: { task.cancel() })
  }
}
