import Pledge
import Synchronization

// Policies that the standard library lacks: a deadline, hedges, retries, and budgets for both.
// `TimeoutError` is Pledge's, so that both endpoints fail with the same error.

/// Runs `operation`, and cancels it at `deadline`.
///
/// A task group waits for all of its tasks, so this function returns when `operation` has responded
/// to its cancellation.
func withDeadline<Value: Sendable>(
  _ deadline: ContinuousClock.Instant, _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  let limit = ContinuousClock.now.duration(to: deadline)
  return try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask { try await operation() }
    group.addTask {
      try await Task.sleep(until: deadline, clock: .continuous)
      throw TimeoutError(duration: limit)
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() else { throw CancellationError() }
    return value
  }
}

private enum HedgeEvent<Value: Sendable>: Sendable {
  case value(Value)
  case failure(any Error)
  case delayOver
}

/// Runs `operation`, and runs it again if it fails, or takes longer than `delay` and `budget`
/// permits; returns the first value.
///
/// Only a value that arrives before the delay adds to the budget.
func hedged<Value: Sendable>(
  delay: Duration, budget: TokenBudget,
  _ operation: @escaping @Sendable (_ attempt: Int) async throws -> Value
) async throws -> Value {
  try await withThrowingTaskGroup(of: HedgeEvent<Value>.self) { group in
    @Sendable func attempt(_ number: Int) async -> HedgeEvent<Value> {
      do { return .value(try await operation(number)) } catch { return .failure(error) }
    }
    group.addTask { await attempt(1) }
    group.addTask {
      try? await Task.sleep(for: delay)
      return .delayOver
    }
    defer { group.cancelAll() }
    var started = 1
    var running = 1
    var isInTime = true
    while let event = try await group.next() {
      try Task.checkCancellation()
      switch event {
      case .value(let value):
        if isInTime { budget.deposit() }
        return value
      case .failure(let error):
        running -= 1
        if error is CancellationError { throw error }
        if started > 1 || !budget.withdraw() {
          if running == 0 { throw error }
          continue
        }
      case .delayOver:
        if started > 1 { continue }
        isInTime = false
        if !budget.withdraw() { continue }
      }
      started += 1
      running += 1
      group.addTask { await attempt(2) }
    }
    throw CancellationError()
  }
}

/// Runs `operation` until it succeeds, with exponential backoff and jitter.
func retry<Value>(
  attempts: Int, budget: TokenBudget, metrics: AsyncRetryMetrics,
  _ operation: () async throws -> Value
) async throws -> Value {
  var delay = 10.0
  for _ in 1..<attempts {
    do {
      let value = try await operation()
      budget.deposit()
      return value
    } catch {
      guard isWorthRetrying(error), budget.withdraw() else { throw error }
      try await Task.sleep(for: .milliseconds(delay * .random(in: 0.5...1)))
      delay *= 2
      metrics.retries.increment()
    }
  }
  do {
    let value = try await operation()
    budget.deposit()
    return value
  } catch {
    metrics.exhausted.increment()
    throw error
  }
}

/// A budget of tokens: successes add tokens, and each retry or hedge removes one.
final class TokenBudget: Sendable {
  private let capacity: Double
  private let perSuccess: Double
  private let tokens: Mutex<Double>

  init(capacity: Int, perSuccess: Double) {
    self.capacity = Double(capacity)
    self.perSuccess = perSuccess
    tokens = Mutex(Double(capacity))
  }

  func deposit() { tokens.withLock { $0 = min(capacity, $0 + perSuccess) } }

  func withdraw() -> Bool {
    tokens.withLock { tokens in
      guard tokens >= 1 else { return false }
      tokens -= 1
      return true
    }
  }
}
