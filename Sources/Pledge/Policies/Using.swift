extension Promise {
  /// Acquires a resource, uses it, and releases it, whatever happens.
  ///
  /// ```swift
  /// Promise.using(pool.connection(), release: { $0.close() }) { connection in
  ///   connection.query("…")
  /// }
  /// ```
  ///
  /// The returned promise settles with the result of the promise that `body` returns, once
  /// `release` has run. `release` runs exactly once for each acquired resource, even if `body`
  /// throws, its promise is rejected, or the returned promise is cancelled. If the resource can't
  /// be acquired, the returned promise is rejected with that error, and neither `body` nor
  /// `release` runs.
  ///
  /// **Cancellation.** Cancelling the returned promise while `body` uses the resource cancels the
  /// promise of `body`. If that leaves work, such as a task that hasn't ended yet, `release` runs when
  /// the work has ended, and the returned promise doesn't wait for it. Cancelling it before the
  /// resource is acquired rejects it immediately. It doesn't cancel `acquisition`, which may be about to succeed; a resource that
  /// is acquired later is released immediately, and `body` doesn't run.
  ///
  /// **Execution.** `body` and `release` each run in the isolation in which they were written.
  public static func using<Resource: Sendable>(
    _ acquisition: Promise<Resource>,
    @_inheritActorContext release: @escaping @Sendable @isolated(any) (Resource) -> Void,
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) (Resource) throws -> Promise
  ) -> Promise {
    let release = Placed<@Sendable (Resource) throws -> Void>(release).kept()
    let give: @Sendable (Resource) -> Promise<Void> = {
      Promise<Resource>.value($0).mapped(release)
    }
    // This observer stays until the acquisition settles, so cancelling the result doesn't reach it.
    let gate = Promise<Resource>(cell: Root<Resource>())
    gate.cell.noteCreation(SourceLocation(fileID: #fileID, line: #line))
    if acquisition.isPending { gate.cell.noteProducer(.cell(acquisition.cell)) }
    let observer = Handler(.observer, of: acquisition.cell, on: .inPlace, body: nil) { _, source in
      if let rejection = source.rejection {
        gate.cell.reject(rejection, of: source)
        return
      }
      let resource = source.value(as: Resource.self)
      if !gate.cell.fulfill(resource) { _ = give(resource) }
    }
    observer.noteObserving(for: gate.cell)
    acquisition.cell.attach(observer)
    return use(
      gate, release: give,
      afterwards: { use, resource in
        use.releasing(at: release.target) { try? release.closure(resource) }
      },
      Placed(body).kept())
  }

  /// Acquires a resource, uses it in an asynchronous `body`, and releases it, whatever happens.
  ///
  /// `release` runs once the task of `body` has ended. The returned promise waits for it, unless
  /// the promise is cancelled; if `release` throws, the promise is rejected with that error.
  /// Cancelling the promise before the resource is acquired cancels the task of `acquire`; a
  /// resource that is acquired nevertheless is released. Otherwise, the same as
  /// ``using(_:release:_:)``.
  ///
  /// ```swift
  /// try await Promise.using(
  ///   acquire: { try await pool.connection() }, release: { try await $0.close() }
  /// ) { connection in
  ///   try await connection.query("…")
  /// }.value
  /// ```
  ///
  /// **Execution.** Each closure runs in its own task, in the isolation in which it was written.
  public static func using<Resource: Sendable>(
    @_inheritActorContext acquire: @escaping @Sendable @isolated(any) () async throws -> Resource,
    @_inheritActorContext release:
      @escaping @Sendable @isolated(any) (Resource) async throws -> Void,
    @_inheritActorContext _ body:
      @escaping @Sendable @isolated(any) (Resource) async throws -> Value
  ) -> Promise {
    let (acquire, body) = (IsolatedOperation(acquire), IsolatedOperation(body))
    let give = IsolatedOperation(release).start
    let (gate, resolver) = Promise<Resource>.withResolvers()
    let task = Task {
      do {
        let resource = try await acquire()
        if !resolver.settle(.success(resource)) { await give(resource).cell.settlement().value }
      } catch {
        resolver.settle(.failure(error))
      }
    }
    resolver.cancelling(task)
    return use(
      acquire.settling(gate), release: give,
      afterwards: { use, resource in
        use.finishedAfter(
          .inPlace {
            // A cancelled task may still use the resource for a while.
            let work = use.cell.rejection?.remainingWork ?? []
            return work.ended().promise.chained(
              .inPlace { _ in
                // If the use has failed, its error comes before that of the release.
                let released = give(resource)
                guard case .failure? = use.currentResult else { return released }
                return released.recovered(.inPlace { _ in .value(()) })
              })
          })
      },
      .inPlace { resource in body.start(resource) })
  }

  /// Returns a promise with the same result; `release` is called before it settles or, if cancellation
  /// has left work, when that has ended.
  private func releasing(
    at target: HandlerTarget, _ release: @escaping @Sendable () -> Void
  ) -> Promise {
    Promise(
      cell: cell.derive(
        Value.self, .end, on: target, body: ErasedClosure(release)
      ) { handler, source in
        let release = handler.takeBody(as: (@Sendable () -> Void).self)
        guard let rejection = source.rejection, !rejection.remainingWork.isEmpty else {
          release()
          handler.copyResult(of: source, as: Value.self)
          return
        }
        let released = rejection.remainingWork.ended().promise.mapped(
          Placed<@Sendable (()) throws -> Void>({ _ in release() }, at: handler.place))
        handler.fail(rejection.naming(.promise(released.cell)))
      })
  }

  /// Uses the resource of `gate`, which has no other consumer.
  private static func use<Resource: Sendable>(
    _ gate: Promise<Resource>, release: @escaping @Sendable (Resource) -> Promise<Void>,
    afterwards: @escaping @Sendable (Promise, Resource) -> Promise,
    _ body: Placed<@Sendable (Resource) throws -> Promise>
  ) -> Promise {
    let lease = Lease()
    return gate.chained(
      .inPlace { resource in
        lease.begin()
        // In this order, a cancellation prevents `body` from starting, but still reaches `release`.
        return afterwards(Promise<Resource>.value(resource).chained(body), resource)
      }
    )
    .finishedAfter(
      .inPlace {
        // Cancelled after the resource was acquired, but before `body` could start.
        guard lease.begin(), case .success(let resource) = gate.currentResult else {
          return Promise<Void>.value(())
        }
        return release(resource)
      })
  }
}

/// A record of whether a resource has been used or released.
private final class Lease: Sendable {
  private let hasBegun = Atomic(false)

  /// Begins the use or the release; returns true for the first call.
  @discardableResult
  func begin() -> Bool { !hasBegun.exchange(true, ordering: .acquiringAndReleasing) }
}
