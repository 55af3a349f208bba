#if OpenCombine || canImport(Combine)
  #if OpenCombine
    import OpenCombine
  #else
    import Combine
  #endif
  import Pledge
  import PledgeCombine
  import PledgeTesting
  import Testing

  @Suite struct PublisherValuesTests {
    @Test func firstValue_isTheFirst_andAsksForNoMore() async throws {
      let source = HandFed()
      let promise = source.firstValue()
      #expect(source.demand == .max(1))
      try expectPending(promise)
      source.send(1)
      try await expectFulfillment(of: promise, with: 1)
      try source.cancellations.expectOnce()
    }

    @Test func firstValue_ofNone_rejects() async throws {
      try await expectRejection(of: Empty<Int, Never>().firstValue(), with: PromiseError.noElement)
    }

    @Test func firstValue_ofAFailure_rejects() async throws {
      try await expectRejection(of: Fail<Int, Boom>(error: Boom()).firstValue(), with: Boom())
    }

    @Test func allValues_areInOrder() async throws {
      try await expectFulfillment(of: [1, 2, 3].publisher.allValues(), with: [1, 2, 3])
      try await expectFulfillment(of: Empty<Int, Never>().allValues(), with: [])
    }

    @Test func allValues_ofAFailure_rejects() async throws {
      let source = HandFed()
      let promise = source.allValues()
      #expect(source.demand == .unlimited)
      source.send(1)
      source.end(.failure(Boom()))
      try await expectRejection(of: promise, with: Boom())
      try source.cancellations.expectNever()
    }

    @Test func cancelledPromise_cancelsTheSubscription_once() async throws {
      for make in [{ $0.firstValue().asVoid() }, { $0.allValues().asVoid() }]
        as [(HandFed) -> Promise<Void>]
      {
        let source = HandFed()
        let promise = make(source)
        promise.cancel()
        source.send(1)
        source.end(.finished)
        try await expectCancellation(of: promise)
        try source.cancellations.expectOnce()
      }
    }

    @Test func publisherThatDropsItsSubscriber_breaksThePromise() async throws {
      try await expectRejection(of: Dropping().firstValue(), with: BrokenPromiseError.self)
      try await expectRejection(of: Dropping().allValues(), with: BrokenPromiseError.self)
    }

    @Test func manyRoundsOfFirstValue_leaveNothingBehind() async throws {
      try await expectNothingLeft(finishing: false) { subject in subject.firstValue() }
    }

    @Test func manyRoundsOfAllValues_leaveNothingBehind() async throws {
      try await expectNothingLeft(finishing: true) { subject in subject.allValues().map { $0[0] } }
    }

    private func expectNothingLeft(
      finishing: Bool,
      _ subscribe: (PassthroughSubject<LifetimeTracker.Token, Never>)
        -> Promise<LifetimeTracker.Token>
    ) async throws {
      let tracker = LifetimeTracker()
      for round in 0..<100_000 {
        let subject = PassthroughSubject<LifetimeTracker.Token, Never>()
        let promise = subscribe(subject)
        if round.isMultiple(of: 3) { promise.cancel() } else { subject.send(tracker.track()) }
        if finishing { subject.send(completion: .finished) }
      }
      try await tracker.expectNoneAlive()
    }
  }

  /// A publisher whose values a test sends; it ignores demand.
  ///
  /// `@unchecked Sendable`: the boxes guard all mutable state.
  private final class HandFed: Publisher, @unchecked Sendable {
    typealias Output = Int
    typealias Failure = Boom

    let cancellations = CallCounter()
    private let subscriber = Box<AnySubscriber<Int, Boom>?>(nil)
    private let asked = Box(Subscribers.Demand.none)

    var demand: Subscribers.Demand { asked.value }

    func receive<S: Subscriber>(subscriber: S) where S.Input == Int, S.Failure == Boom {
      self.subscriber.exchange(AnySubscriber(subscriber))
      subscriber.receive(subscription: Feeding(self))
    }

    func send(_ value: Int) { _ = subscriber.value?.receive(value) }
    func end(_ completion: Subscribers.Completion<Boom>) {
      subscriber.value?.receive(completion: completion)
    }

    private final class Feeding: Subscription {
      private let source: HandFed
      init(_ source: HandFed) { self.source = source }
      func request(_ demand: Subscribers.Demand) { source.asked.exchange(demand) }
      func cancel() { source.cancellations.call() }
    }
  }

  /// A publisher that never calls its subscribers.
  private struct Dropping: Publisher {
    typealias Output = Int
    typealias Failure = Never
    func receive<S: Subscriber>(subscriber: S) where S.Input == Int, S.Failure == Never {}
  }
#endif
