import Synchronization

extension Promise {
  /// Acquires a resource, uses it, and releases it, whatever happens.
  ///
  /// ```swift
  /// Promise.using(pool.connection(), release: { $0.close() }) { connection in
  ///   connection.query("…")
  /// }
  /// ```
  ///
  /// The result settles as the promise that `body` returns, once `release` has run. `release` runs
  /// exactly once for a resource that was acquired: also when `body` throws, when its promise is
  /// rejected, and when the result is cancelled, be it before `body` has started. If the resource
  /// cannot be acquired, the result is rejected with that error and nothing is released.
  ///
  /// **Execution.** `body` and `release` each run in the isolation in which they were written.
  public static func using<Resource: Sendable>(
    _ acquisition: Promise<Resource>,
    @_inheritActorContext release:
      @escaping @Sendable @isolated(any) (Resource) -> Void,
    @_inheritActorContext _ body:
      @escaping @Sendable @isolated(any) (Resource) throws -> Promise
  ) -> Promise {
    let bodyTarget = _HandlerTarget(isolation: body.isolation)
    let body = Isolated(body).assumingIsolated(
      as: (@Sendable (Resource) throws -> Promise).self)
    let releaseTarget = _HandlerTarget(isolation: release.isolation)
    let release = Isolated(release).assumingIsolated(as: (@Sendable (Resource) -> Void).self)

    let immediate = _HandlerTarget(immediate: ())
    let use = Use()
    return acquisition.chained(immediate) { resource in
      use.begin()
      // In this order a cancellation keeps `body` from starting, and reaches `release`.
      return Promise<Resource>.value(resource).chained(bodyTarget, body)
        .finished(releaseTarget) { release(resource) }
    }
    .finishedAfter(immediate) {
      // Cancelled just when the resource had been acquired: it is still ours to release.
      guard use.begin(), case .success(let resource) = acquisition.currentResult else {
        return Promise<Void>.value(())
      }
      return Promise<Resource>.value(resource).mapped(releaseTarget, release)
    }
  }
}

/// Whether a resource has found its user.
private final class Use: Sendable {
  private let hasBegun = Atomic(false)

  /// True for the first caller.
  @discardableResult
  func begin() -> Bool { !hasBegun.exchange(true, ordering: .acquiringAndReleasing) }
}
