// What can't be called has a message in place of a comment.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The policies for `async` functions, given a closure that returns a promise. Without these overloads,
// the compiler reports that it failed to produce a diagnostic.

@available(
  *, unavailable,
  message:
    "the closure returns a promise, which nothing awaits; write 'try await promise.value' inside it, or use 'promise.timeout(after:)'"
)
public func withTimeout<Value: Sendable>(
  _ duration: Duration, clock: any Clock<Duration> = ContinuousClock(),
  _ operation: () throws -> Promise<Value>
) async throws -> Value { unavailable() }

@available(
  *, unavailable,
  message:
    "the closure returns a promise, which nothing awaits; write 'try await promise.value' inside it, or use 'promise.deadline(…)'"
)
public func withDeadline<Value: Sendable>(
  _ deadline: ContinuousClock.Instant, _ operation: () throws -> Promise<Value>
) async throws -> Value { unavailable() }

@available(
  *, unavailable,
  message:
    "the closure returns a promise, which nothing awaits; write 'try await promise.value' inside it, or use 'Promise.retry'"
)
public func retry<Value: Sendable>(
  _ policy: RetryPolicy, _ operation: () throws -> Promise<Value>
) async throws -> Value { unavailable() }

@available(
  *, unavailable,
  message:
    "the closure returns a promise, which nothing awaits; write 'try await promise.value' inside it, or use 'Promise.hedged'"
)
public func hedged<Value: Sendable>(
  attempts: Int = 2, delay: Duration, _ operation: () throws -> Promise<Value>
) async throws -> Value { unavailable() }

extension Limiter {
  @available(
    *, unavailable,
    message:
      "the closure returns a promise, which nothing awaits; write 'try await promise.value' inside it, or use 'run'"
  )
  public func perform<Value: Sendable>(
    priority: Int = 0, _ operation: () throws -> Promise<Value>
  ) async throws -> Value { unavailable() }
}
