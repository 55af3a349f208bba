import Synchronization

struct QueueFullError: Error {}

/// Runs a limited number of operations at the same time; a limited number of others wait, in order.
final class AsyncLimiter: Sendable {
  private struct State {
    var running = 0
    var nextID = 0
    var waiting: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    /// The waits that were cancelled before they started.
    var cancelled: Set<Int> = []
  }

  private let limit: Int
  private let queueCapacity: Int
  private let metrics: AsyncLimiterMetrics
  private let state = Mutex(State())

  init(_ limit: Int, queueCapacity: Int, metrics: AsyncLimiterMetrics) {
    self.limit = limit
    self.queueCapacity = queueCapacity
    self.metrics = metrics
  }

  func run<Value: Sendable>(_ operation: () async throws -> Value) async throws -> Value {
    try await enter()
    metrics.running.increment()
    let start = ContinuousClock.now
    defer {
      leave()
      metrics.running.decrement()
      metrics.runTime.record(duration: start.duration(to: .now))
    }
    return try await operation()
  }

  private func enter() async throws {
    let id: Int? = try state.withLock { state in
      if state.running < limit {
        state.running += 1
        return nil
      }
      guard state.waiting.count < queueCapacity else {
        metrics.rejected.increment()
        throw QueueFullError()
      }
      state.nextID += 1
      return state.nextID
    }
    guard let id else { return metrics.waitTime.recordNanoseconds(0) }
    metrics.waiting.increment()
    let start = ContinuousClock.now
    defer {
      // The wait may have ended just before it was cancelled.
      state.withLock { _ = $0.cancelled.remove(id) }
      metrics.waiting.decrement()
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Void, any Error>? = state.withLock { state in
          if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
          // A place may have become free in the meantime.
          if state.running < limit {
            state.running += 1
            return .success(())
          }
          state.waiting.append((id, continuation))
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
        guard let index = state.waiting.firstIndex(where: { $0.id == id }) else {
          state.cancelled.insert(id)
          return nil
        }
        return state.waiting.remove(at: index).continuation
      }
      continuation?.resume(throwing: CancellationError())
    }
    metrics.waitTime.record(duration: start.duration(to: .now))
  }

  private func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst().continuation }
      state.running -= 1
      return nil
    }
    next?.resume()
  }
}
