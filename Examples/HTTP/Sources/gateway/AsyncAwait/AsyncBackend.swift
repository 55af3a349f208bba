import AsyncHTTPClient
import Logging
import Pledge
import PledgeAsyncHTTPClient
import Tracing

// A call to a backend as `async` functions, which share the policies of `Backend`.

extension Backend {
  /// Returns this backend's part of page `id`, like `get(_:by:)`.
  ///
  /// Read it from the outside in, too: the same retries, limiter, and hedges, around the same call.
  func part(_ id: Int, by deadline: Deadline) async throws -> Part {
    try await retry(retries, clock: .continuous) {
      do {
        let response = try await limiter.perform { try await hedgedResponse(id, by: deadline) }
        return try decode(Part.self, from: response)
      } catch {
        note(error, id)
        throw error
      }
    }
  }

  private func hedgedResponse(
    _ id: Int, by deadline: Deadline
  ) async throws -> HTTPClient.Response {
    let start = ContinuousClock.now
    guard let hedgeDelay else { return try await response(id, by: deadline, since: start) }
    let calls = AtomicCounter()
    let delay = hedgeDelay.current
    return try await hedged(delay: delay, budget: hedgeBudget) { [self] in
      if calls.increment() > 1 { noteHedge(id, delay) }
      return try await response(id, by: deadline, since: start)
    }
  }

  private func response(
    _ id: Int, by deadline: Deadline, since start: ContinuousClock.Instant
  ) async throws -> HTTPClient.Response {
    metrics.calls.increment()
    let request = try backendRequest("\(try await address.value)/\(id)", by: deadline)
    let response = try await withSpan(name, ofKind: .client) { _ in
      try await client.load(
        request, upTo: maximumBodySize, deadline: deadline.nio, logger: .current
      ).value
    }
    return try noted(response, id, since: start)
  }
}
