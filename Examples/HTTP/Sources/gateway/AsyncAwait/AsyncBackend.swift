import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import Pledge
import Tracing

/// The client of one backend, like `Backend`, in plain `async`/`await`.
///
/// From Pledge, it uses only the promise for the backend's address.
final class AsyncBackend<Part: Decodable & Sendable>: Sendable {
  let name: String

  private let address: Promise<String>
  private let client: HTTPClient
  private let metrics: BackendMetrics
  private let retryMetrics: AsyncRetryMetrics
  private let limiter: AsyncLimiter
  private let attempts: Int
  private let retryBudget = TokenBudget(capacity: 20, perSuccess: 0.1)
  private let hedgeDelay: HedgeDelay?
  private let hedgeBudget: TokenBudget

  init(name: String, address: Promise<String>, settings: Settings, services: SharedServices) {
    self.name = name
    self.address = address
    client = services.client
    metrics = BackendMetrics(backend: name, endpoint: "async", factory: services.metrics)
    retryMetrics = AsyncRetryMetrics(name, factory: services.metrics)
    limiter = AsyncLimiter(
      settings.concurrency, queueCapacity: settings.queueCapacity,
      metrics: AsyncLimiterMetrics(name, factory: services.metrics))
    attempts = settings.attempts
    hedgeDelay = settings.hedgeDelay.map { HedgeDelay(minimum: $0) }
    hedgeBudget = TokenBudget(
      capacity: settings.hedgeReserve, perSuccess: settings.hedgeRatio)
  }

  func get(_ id: Int, by deadline: Deadline) async throws -> Part {
    try await retry(attempts: attempts, budget: retryBudget, metrics: retryMetrics) { [self] in
      do {
        let response = try await limiter.run { [self] in
          try await hedgedCall(id, by: deadline)
        }
        return try decode(Part.self, from: response)
      } catch {
        note(error, id)
        throw error
      }
    }
  }

  private func hedgedCall(
    _ id: Int, by deadline: Deadline
  ) async throws -> HTTPClient.Response {
    let start = ContinuousClock.now
    guard let hedgeDelay else { return try await call(id, by: deadline, since: start) }
    let delay = hedgeDelay.current
    return try await hedged(delay: delay, budget: hedgeBudget) { [self] attempt in
      if attempt > 1 {
        metrics.hedges.increment()
        Logger.current.debug("\(name) \(id) is called again: no response within \(delay)")
      }
      return try await call(id, by: deadline, since: start)
    }
  }

  private func call(
    _ id: Int, by deadline: Deadline, since start: ContinuousClock.Instant
  ) async throws -> HTTPClient.Response {
    metrics.calls.increment()
    let request = try backendRequest("\(try await address.value)/\(id)", by: deadline)
    let response = try await withSpan(name, ofKind: .client) { _ in
      try await send(request, by: deadline)
    }
    let latency = start.duration(to: .now)
    hedgeDelay?.note(latency)
    metrics.latency.record(duration: latency)
    Logger.current.debug("\(name) \(id): status \(response.status.code) after \(start.elapsed)")
    return try successful(response, of: name)
  }

  private func note(_ error: any Error, _ id: Int) {
    if error is CancellationError { return }
    if error is QueueFullError { metrics.rejected.increment() }
    metrics.failures.increment()
    Logger.current.info("\(name) \(id) failed: \(error)")
  }

  /// Uses the same interface of the client that `load` uses, so that the endpoints can be compared.
  private func send(
    _ request: HTTPClient.Request, by deadline: Deadline
  ) async throws -> HTTPClient.Response {
    let call = client.execute(
      request: request,
      delegate: ResponseAccumulator(request: request, maxBodySize: maximumBodySize),
      deadline: deadline.nio, logger: .current)
    do {
      return try await withTaskCancellationHandler {
        try await call.futureResult.get()
      } onCancel: {
        call.cancel()
      }
    } catch {
      try Task.checkCancellation()
      throw error
    }
  }
}
