#if OpenCombine || canImport(Combine)
  #if OpenCombine
    import OpenCombine
  #else
    import Combine
  #endif
  import Pledge

  /// A publisher of a promise's result: its value, or its error as a failure.
  ///
  /// Each subscriber is a consumer of the promise. It receives the value after it has requested
  /// one: immediately if the promise is settled, and otherwise on the thread that settles the
  /// promise. Use `receive(on:)` to receive it elsewhere. An error requires no demand. A subscriber
  /// that cancels doesn't affect the others; when no consumer is left, the promise is cancelled. A
  /// cancelled promise fails with `CancellationError`.
  public struct PromisePublisher<Output: Sendable>: Publisher, Sendable {
    /// The type of the promise's error.
    public typealias Failure = any Error

    private let promise: Promise<Output>

    fileprivate init(_ promise: Promise<Output>) { self.promise = promise }

    /// Sends the result to `subscriber` when it requests a value.
    public func receive<S: Subscriber>(subscriber: S)
    where S.Input == Output, S.Failure == any Error {
      OutcomeSubscription(Downstream(subscriber) { $0 }).begin(promise.newConsumer())
    }
  }

  /// A publisher of a guarantee's value.
  ///
  /// It works like ``PromisePublisher``, but finishes without a value if the guarantee is broken or
  /// cancelled.
  public struct GuaranteePublisher<Output: Sendable>: Publisher, Sendable {
    /// The failure type; a guarantee has no error.
    public typealias Failure = Never

    private let guarantee: Guarantee<Output>

    fileprivate init(_ guarantee: Guarantee<Output>) { self.guarantee = guarantee }

    /// Sends the value to `subscriber` when it requests one.
    public func receive<S: Subscriber>(subscriber: S)
    where S.Input == Output, S.Failure == Never {
      OutcomeSubscription(Downstream(subscriber) { _ in .finished }).begin(guarantee.promise)
    }
  }

  extension Promise {
    /// A publisher of this promise's result.
    public var publisher: PromisePublisher<Value> { PromisePublisher(self) }
  }

  extension Guarantee {
    /// A publisher of this guarantee's value.
    public var publisher: GuaranteePublisher<Value> { GuaranteePublisher(self) }
  }

  /// A type-erased subscriber.
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

  /// The subscription of one subscriber to a result.
  ///
  /// `@unchecked Sendable`: `lock` guards the variables. The subscriber is called outside it, by
  /// one thread at a time: the one that has removed the result.
  private final class OutcomeSubscription<Input: Sendable>: Subscription, @unchecked Sendable {
    private let lock = Mutex(())
    /// The subscriber; nil after it has cancelled or received everything.
    private var downstream: Downstream<Input>?
    /// The subscriber's consumer of the promise, while the promise is pending.
    private var promise: Promise<Input>?
    private var isWanted = false
    private var value: Input?

    init(_ downstream: Downstream<Input>) { self.downstream = downstream }

    /// Subscribes to `promise`, which has no other consumer.
    func begin(_ promise: Promise<Input>) {
      let downstream = lock.withLock { _ in
        self.promise = promise
        return Unchecked(self.downstream)
      }
      downstream.value?.start(self)
      promise.observeOutcome(on: .immediate) { self.receive($0) }
    }

    func request(_ demand: Subscribers.Demand) {
      guard demand > .none else { return }
      lock.withLock { _ in isWanted = true }
      sendIfReady()
    }

    func cancel() {
      // Cancelled and released outside the lock, because that can run user code.
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

    /// Sends the value and the completion, if there is a value and it has been requested.
    private func sendIfReady() {
      let (value, downstream) = lock.withLock { _ -> (Input?, Unchecked<Downstream<Input>?>) in
        guard isWanted, let value = self.value else { return (nil, Unchecked(nil)) }
        self.value = nil
        return (value, Unchecked(self.downstream))
      }
      guard let value, let downstream = downstream.value else { return }
      downstream.send(value)
      // The subscriber may have cancelled in the meantime.
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

  /// A value that is returned from a lock; the code that receives it is its only user, or can share
  /// it.
  ///
  /// `@unchecked Sendable`: subscribers and subscriptions can be called on any thread.
  struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }
#endif
