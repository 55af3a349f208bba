#if OpenCombine || canImport(Combine)
  #if OpenCombine
    import OpenCombine
  #else
    import Combine
  #endif
  import Pledge

  extension Publisher where Output: Sendable {
    /// Subscribes, and returns a promise for the first value.
    ///
    /// The subscriber requests one value, and then cancels the subscription. The promise is
    /// rejected with the publisher's failure, with `PromiseError.noElement` if the publisher
    /// finishes without a value, and with `BrokenPromiseError` if the publisher releases its
    /// subscriber. Cancelling the promise cancels the subscription.
    ///
    /// The subscription starts inside this call. You don't need to store anything to keep it.
    public func firstValue(fileID: StaticString = #fileID, line: UInt = #line) -> Promise<Output> {
      Promise(fileID: fileID, line: line) { resolver in
        ValueSubscriber<Output, Failure>.subscribe(
          to: self, .max(1), onCancelOf: resolver
        ) { values, end in
          if let value = values.first {
            resolver.fulfill(value)
          } else if case .failure(let error) = end {
            resolver.reject(error)
          } else {
            resolver.reject(PromiseError.noElement)
          }
        }
      }
    }

    /// Subscribes, and returns a promise for all values, in order.
    ///
    /// The demand is unlimited. The promise is fulfilled when the publisher has finished, and
    /// rejected with the publisher's failure, or with `BrokenPromiseError` if the publisher
    /// releases its subscriber. Cancelling the promise cancels the subscription.
    ///
    /// The subscription starts inside this call. You don't need to store anything to keep it.
    public func allValues(fileID: StaticString = #fileID, line: UInt = #line) -> Promise<[Output]> {
      Promise(fileID: fileID, line: line) { resolver in
        ValueSubscriber<Output, Failure>.subscribe(
          to: self, .unlimited, onCancelOf: resolver
        ) { values, end in
          if case .failure(let error) = end {
            resolver.reject(error)
          } else {
            resolver.fulfill(values)
          }
        }
      }
    }
  }

  /// A subscriber that collects values until its demand is met or the publisher has finished.
  ///
  /// `@unchecked Sendable`: `lock` guards the variables. User code is called and released outside
  /// it.
  private final class ValueSubscriber<Input: Sendable, Failure: Error>: Subscriber,
    @unchecked Sendable
  {
    private typealias End = @Sendable ([Input], Subscribers.Completion<Failure>) -> Void

    private enum State {
      case waiting
      case subscribed(any Subscription)
      case ended
    }

    private let lock = Mutex(())
    private let demand: Subscribers.Demand
    private var state = State.waiting
    private var values: [Input] = []
    /// The closure that is called once with the values, unless the subscription is cancelled
    /// before.
    private var end: End?

    private init(_ demand: Subscribers.Demand, _ end: @escaping End) {
      self.demand = demand
      self.end = end
    }

    static func subscribe<T: Sendable>(
      to publisher: some Publisher<Input, Failure>, _ demand: Subscribers.Demand,
      onCancelOf resolver: Resolver<T>,
      _ end: @escaping @Sendable ([Input], Subscribers.Completion<Failure>) -> Void
    ) {
      let subscriber = ValueSubscriber(demand, end)
      // Weak, because the subscriber retains the resolver: if the publisher releases the
      // subscriber, the promise must be rejected.
      resolver.onCancel { [weak subscriber] in subscriber?.cancel() }
      publisher.subscribe(subscriber)
    }

    func receive(subscription: any Subscription) {
      let offered = Unchecked(subscription)
      let isFirst = lock.withLock { _ in
        guard case .waiting = state else { return false }
        state = .subscribed(offered.value)
        return true
      }
      if isFirst { subscription.request(demand) } else { subscription.cancel() }
    }

    func receive(_ input: Input) -> Subscribers.Demand {
      let isComplete = lock.withLock { _ in
        guard end != nil else { return false }
        values.append(input)
        return demand == .max(values.count)
      }
      if isComplete { finish(.finished, cancelling: true) }
      return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) { finish(completion) }

    func cancel() { finish(nil, cancelling: true) }

    private func finish(_ completion: Subscribers.Completion<Failure>?, cancelling: Bool = false) {
      let (end, values, last) = lock.withLock { _ in
        defer {
          self.end = nil
          self.values = []
          state = .ended
        }
        return (self.end, self.values, Unchecked(state))
      }
      if cancelling, case .subscribed(let subscription) = last.value { subscription.cancel() }
      if let completion { end?(values, completion) }
    }
  }
#endif
