#if OpenCombine || canImport(Combine)
  #if OpenCombine
    import OpenCombine
  #else
    import Combine
  #endif
  import Pledge

  extension Publisher where Output: Sendable {
    /// Subscribes, and returns a promise of the first value.
    ///
    /// One value is asked for; with it the subscription is cancelled. A failure rejects the promise,
    /// and so does an end without a value, with `PromiseError.noElement`. Cancelling the promise
    /// cancels the subscription. A publisher that drops its subscriber rejects the promise with
    /// `BrokenPromiseError`.
    ///
    /// The subscription begins inside this call. Nothing has to be stored to keep it.
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

    /// Subscribes, and returns a promise of all values, in order, when the publisher has finished.
    ///
    /// All values are asked for. A failure rejects the promise. Cancelling the promise cancels the
    /// subscription. A publisher that drops its subscriber rejects the promise with
    /// `BrokenPromiseError`.
    ///
    /// The subscription begins inside this call. Nothing has to be stored to keep it.
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

  /// Collects values until it has as many as it wants, or the publisher has ended.
  ///
  /// `@unchecked Sendable`: `lock` guards the variables. What belongs to the program is called and
  /// released without it.
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
    /// Called once, with the values, unless the subscription is cancelled before.
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
      // Weak, as the subscriber keeps the resolver: if the publisher drops it, the promise is broken.
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
