#if OpenCombine || canImport(Combine)
  #if OpenCombine
    import OpenCombine
  #else
    import Combine
  #endif
  import Pledge

  /// Publishes the outcome of a promise: its value and the end, or its error.
  ///
  /// Each subscriber is one more consumer of the promise. It gets the value when it has asked for one,
  /// at once if the promise has settled before, and otherwise on the thread that settles the promise:
  /// use `receive(on:)` to get it elsewhere. An error needs no demand. A subscriber that cancels
  /// leaves the others alone; when no consumer is left, the promise is cancelled. A promise that
  /// is cancelled publishes `CancellationError`.
  public struct PromisePublisher<Output: Sendable>: Publisher, Sendable {
    /// The type of the promise's error.
    public typealias Failure = any Error

    private let promise: Promise<Output>

    fileprivate init(_ promise: Promise<Output>) { self.promise = promise }

    /// Sends `subscriber` the outcome when it asks for it.
    public func receive<S: Subscriber>(subscriber: S)
    where S.Input == Output, S.Failure == any Error {
      OutcomeSubscription(Downstream(subscriber) { $0 }).begin(promise.share())
    }
  }

  /// Publishes the value of a guarantee.
  ///
  /// As ``PromisePublisher``; but a guarantee that is broken or cancelled ends without a value.
  public struct GuaranteePublisher<Output: Sendable>: Publisher, Sendable {
    /// A guarantee has no error.
    public typealias Failure = Never

    private let guarantee: Guarantee<Output>

    fileprivate init(_ guarantee: Guarantee<Output>) { self.guarantee = guarantee }

    /// Sends `subscriber` the value when it asks for it.
    public func receive<S: Subscriber>(subscriber: S)
    where S.Input == Output, S.Failure == Never {
      OutcomeSubscription(Downstream(subscriber) { _ in .finished }).begin(guarantee.promise)
    }
  }

  extension Promise {
    /// A publisher of this promise's outcome.
    public var publisher: PromisePublisher<Value> { PromisePublisher(self) }
  }

  extension Guarantee {
    /// A publisher of this guarantee's value.
    public var publisher: GuaranteePublisher<Value> { GuaranteePublisher(self) }
  }

  /// A subscriber, whatever its type.
  private struct Downstream<Input> {
    let start: (any Subscription) -> Void
    let send: (Input) -> Void
    let end: (Subscribers.Completion<any Error>) -> Void

    init<S: Subscriber<Input, Failure>, Failure: Error>(
      _ subscriber: S,
      _ completion: @escaping (Subscribers.Completion<any Error>) -> Subscribers.Completion<Failure>
    ) {
      start = { subscriber.receive(subscription: $0) }
      send = { _ = subscriber.receive($0) }
      end = { subscriber.receive(completion: completion($0)) }
    }
  }

  /// A subscriber's interest in an outcome.
  ///
  /// `@unchecked Sendable`: `lock` guards the variables. The subscriber is called without it, by one
  /// thread at a time: the one that took the outcome out.
  private final class OutcomeSubscription<Input: Sendable>: Subscription, @unchecked Sendable {
    private let lock = Mutex(())
    /// Nil once the subscriber has cancelled or got all.
    private var downstream: Downstream<Input>?
    /// The subscriber's own consumer of the promise, while it waits.
    private var promise: Promise<Input>?
    private var isWanted = false
    private var value: Input?

    init(_ downstream: Downstream<Input>) { self.downstream = downstream }

    /// Subscribes to `promise`, which nothing else consumes.
    func begin(_ promise: Promise<Input>) {
      let downstream = lock.withLock { _ in
        self.promise = promise
        return Unchecked(self.downstream)
      }
      downstream.value?.start(self)
      promise.observeOutcome { self.receive($0) }
    }

    func request(_ demand: Subscribers.Demand) {
      guard demand > .none else { return }
      lock.withLock { _ in isWanted = true }
      sendIfReady()
    }

    func cancel() {
      // Cancelled and released outside the lock: that may run code of the program.
      let (promise, downstream) = lock.withLock { _ in
        defer {
          self.promise = nil
          self.downstream = nil
          value = nil
        }
        return (self.promise, Unchecked(self.downstream))
      }
      promise?.cancel()
      withExtendedLifetime(downstream) {}
    }

    private func receive(_ outcome: Result<Input, any Error>) {
      switch outcome {
      case .success(let value):
        lock.withLock { _ in
          promise = nil
          if downstream != nil { self.value = value }
        }
        sendIfReady()
      case .failure(let error):
        end(.failure(error))
      }
    }

    /// Sends the value, once it is there and wanted, and the end.
    private func sendIfReady() {
      let (value, downstream) = lock.withLock { _ -> (Input?, Unchecked<Downstream<Input>?>) in
        guard isWanted, let value = self.value else { return (nil, Unchecked(nil)) }
        self.value = nil
        return (value, Unchecked(self.downstream))
      }
      guard let value, let downstream = downstream.value else { return }
      downstream.send(value)
      // The subscriber may have cancelled.
      end(.finished)
    }

    private func end(_ completion: Subscribers.Completion<any Error>) {
      let downstream = lock.withLock { _ in
        defer {
          promise = nil
          self.downstream = nil
        }
        return Unchecked(self.downstream)
      }
      downstream.value?.end(completion)
    }
  }

  /// A value that leaves a lock; the code that receives it is its only user, or may share it.
  ///
  /// `@unchecked Sendable`: subscribers and subscriptions may be called on any thread.
  struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }
#endif
