/// Cancellation, and what ends with it: followers and timeouts.
extension ReferenceWorld {
  /// Cancels what settles `promise`, up to the nearest promise with another consumer.
  func cancel(_ promise: ReferencePromise) {
    guard promise.outcome == nil, !promise.isCancelled else { return }
    promise.isCancelled = true
    switch promise.feed {
    case .nothing: break
    case .resolver(let hooks):
      promise.feed = .resolver(CancelHooks())
      perform { [self] in
        for handler in hooks.handlers { handler() }
        for follower in hooks.followers { withdraw(follower) }
        reject(promise, .cancelled)
      }
    case .observer(let observer):
      // A running handler checks `isCancelled` after it returns.
      guard !observer.isTaken, !observer.isDetached, let source = observer.source else { return }
      guard source.observers.contains(where: { $0 === observer }) else {
        // The result is already being delivered to it.
        detach(observer)
        return noteUnheard(source)
      }
      let isOnly = source.observers.count == 1 && !source.isKept
      if !observer.isShield, isOnly || fault == .cancelsTooMuch { return cancel(source) }
      remove(observer, from: source)
      if observer.isShield { source.isKept = true }
      detach(observer)
    }
  }

  private func remove(_ observer: Observer, from source: ReferencePromise) {
    source.observers.removeAll { $0 === observer }
    source.hasBeenLeft = true
  }

  /// Delivers the replacement to an observer now.
  private func detach(_ observer: Observer) {
    observer.isDetached = true
    deliver([observer])
  }

  /// Marks the error of a settled promise as handled if the observer that no longer receives it was
  /// its only consumer.
  private func noteUnheard(_ source: ReferencePromise) {
    if source.takers <= 1 { source.outcome?.rejection?.isHandled = true }
  }

  /// Cancels the source of an observer if that has no other consumer, and then delivers `failure` to
  /// the observer.
  func withdraw(_ observer: Observer, seeing failure: Rejection = Rejection(.cancelled)) {
    guard !observer.isTaken, !observer.isDetached, let source = observer.source else { return }
    observer.replacement = failure
    observer.isDetached = true
    if source.observers.contains(where: { $0 === observer }) {
      remove(observer, from: source)
      if source.observers.isEmpty, !source.isKept { cancel(source) }
    } else {
      noteUnheard(source)
    }
    deliver([observer])
  }

  /// Removes an observer without calling it, and keeps its source pending.
  func leave(_ observer: Observer) {
    guard !observer.isTaken, !observer.isDetached, let source = observer.source else { return }
    observer.isDetached = true
    observer.isTaken = true
    observer.run = nil
    if source.outcome == nil { remove(observer, from: source) }
    keep(source)
  }

  /// Keeps a promise pending even if its consumers are removed; its error isn't reported.
  func keep(_ promise: ReferencePromise) {
    promise.isKept = true
    promise.hasBeenLeft = true
    promise.outcome?.rejection?.isHandled = true
  }

  func onCancel(_ promise: ReferencePromise, _ handler: @escaping () -> Void) {
    guard case .resolver(var hooks) = promise.feed, promise.outcome == nil, !promise.isCancelled
    else {
      if promise.isCancelled { handler() }
      return
    }
    hooks.handlers.append(handler)
    promise.feed = .resolver(hooks)
  }

  /// Makes `promise` settle as `other`, after `body`; until then, `resolver` is retained.
  func follow(
    _ promise: ReferencePromise, _ other: ReferencePromise, keeping resolver: ReferenceResolver?,
    _ body: @escaping () -> Void = {}
  ) {
    let observer = Observer(other)
    observer.run = { [self] outcome in
      body()
      if promise.isCancelled, other.takers <= 1 { outcome.rejection?.isHandled = true }
      settle(promise, outcome)
      withExtendedLifetime(resolver) {}
    }
    attach(observer, to: other)
    guard case .resolver(var hooks) = promise.feed, promise.outcome == nil, !promise.isCancelled
    else { return promise.isCancelled ? withdraw(observer) : leave(observer) }
    hooks.followers.append(observer)
    promise.feed = .resolver(hooks)
  }

  /// Returns a promise that settles as `source`, and a closure that rejects it with `failure`
  /// instead.
  func timeout(
    _ source: ReferencePromise, _ failure: Failure
  ) -> (ReferencePromise, fire: () -> Void) {
    let observer = Observer(source)
    let promise = ReferencePromise(.observer(observer))
    observer.promise = promise
    // If the source is abandoned, it still waits for the timeout.
    let run: (Settlement) -> Void = { [self] outcome in finish(promise, outcome) }
    observer.run = { outcome in
      guard case .abandoned = outcome, !promise.isCancelled else { return run(outcome) }
      observer.isTaken = false
      observer.source = source
      observer.run = run
    }
    attach(observer, to: source)
    return (promise, { [self] in withdraw(observer, seeing: Rejection(failure)) })
  }
}
