#if OpenCombine || canImport(Combine)
  #if OpenCombine
    import OpenCombine
  #else
    import Combine
  #endif
  @_spi(DropIns) import Pledge
  import PledgeCombine
  import PledgeTesting
  import Testing

  struct Boom: Error, Equatable {}

  @Suite struct PromisePublisherTests {
    @Test(arguments: [true, false]) func value_comesWithTheEnd(settledBefore: Bool) {
      let probe = Probe<any Error>(demand: .unlimited)
      let (promise, resolver) = Promise<Int>.withResolvers()
      if settledBefore { resolver.fulfill(1) }
      promise.publisher.subscribe(probe)
      resolver.fulfill(1)
      #expect(probe.events == ["subscription", "1", "finished"])
    }

    @Test(arguments: [true, false]) func error_comesWithoutDemand(settledBefore: Bool) {
      let probe = Probe<any Error>()
      let (promise, resolver) = Promise<Int>.withResolvers()
      if settledBefore { resolver.reject(Boom()) }
      promise.publisher.subscribe(probe)
      resolver.reject(Boom())
      #expect(probe.events == ["subscription", "Boom()"])
    }

    @Test func value_waitsForDemand_andComesOnce() {
      let probe = Probe<any Error>()
      Promise.value(2).publisher.subscribe(probe)
      #expect(probe.events == ["subscription"])
      probe.request(.max(1))
      probe.request(.unlimited)
      #expect(probe.events == ["subscription", "2", "finished"])
    }

    @Test func demandBeforeTheValue_counts() {
      let probe = Probe<any Error>()
      let (promise, resolver) = Promise<Int>.withResolvers()
      promise.publisher.subscribe(probe)
      probe.request(.max(1))
      resolver.fulfill(3)
      #expect(probe.events == ["subscription", "3", "finished"])
    }

    @Test func subscriberThatCancels_getsNothing_andCancelsThePromise() throws {
      let told = CallCounter()
      let tracker = LifetimeTracker()
      let (promise, resolver) = Promise<Int>.withResolvers()
      resolver.onCancel { told.call() }
      do {
        let probe = Probe<any Error>(demand: .unlimited, token: tracker.track())
        promise.publisher.subscribe(probe)
        probe.cancel()
        probe.cancel()
        #expect(probe.events == ["subscription"])
      }
      try told.expectOnce()
      #expect(throws: CancellationError.self) { try promise.currentResult?.get() }
      #expect(tracker.liveCount == 0)
    }

    @Test func subscriberThatCancels_leavesOtherConsumersAlone() throws {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let first = Probe<any Error>(demand: .unlimited)
      let second = Probe<any Error>(demand: .unlimited)
      promise.publisher.subscribe(first)
      promise.publisher.subscribe(second)
      first.cancel()
      try expectPending(promise)
      resolver.fulfill(4)
      #expect(first.events == ["subscription"])
      #expect(second.events == ["subscription", "4", "finished"])
    }

    @Test func subscriberThatCancelsWhileItGetsTheSubscription_getsNothing() throws {
      let probe = Probe<any Error>(demand: .unlimited, cancelsOn: "subscription")
      let (promise, resolver) = Promise<Int>.withResolvers()
      promise.publisher.subscribe(probe)
      #expect(!resolver.fulfill(5))
      #expect(probe.events == ["subscription"])
    }

    @Test func subscriberThatCancelsWhileItGetsTheValue_getsNoEnd() {
      let probe = Probe<any Error>(demand: .unlimited, cancelsOn: "6")
      Promise.value(6).publisher.subscribe(probe)
      #expect(probe.events == ["subscription", "6"])
    }

    @Test func cancelledPromise_publishesTheCancellation() {
      let probe = Probe<any Error>(demand: .unlimited)
      let (promise, resolver) = Promise<Int>.withResolvers()
      promise.publisher.subscribe(probe)
      promise.cancel()
      #expect(probe.events == ["subscription", "CancellationError()"])
      withExtendedLifetime(resolver) {}
    }

    @Test func abandonedPromise_publishesThatItIsBroken() {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let probe = Probe<any Error>(demand: .unlimited)
      promise.publisher.subscribe(probe)
      resolver.abandon()
      #expect(probe.events.count == 2)
      #expect(probe.events.last?.contains("abandoned") == true)
    }

    @Test func error_thatASubscriberGot_countsAsHandled() throws {
      struct Ignored: Error {}
      let reports = Recorder<String>()
      PromiseDiagnostics.setUnhandledRejectionHandler { reports.record("\($0.error)") }
      do {
        let probe = Probe<any Error>()
        Promise<Int>.rejected(Ignored()).publisher.subscribe(probe)
        #expect(probe.events.last == "Ignored()")
      }
      // An error that is certainly reported, to check that the hook is installed.
      do { _ = Promise<Int>.rejected(Boom()) }
      PromiseDiagnostics.setUnhandledRejectionHandler(nil)
      #expect(reports.events.contains("Boom()"))
      #expect(!reports.events.contains("Ignored()"))
    }

    @Test func guarantee_publishesItsValue_withoutAnError() {
      let probe = Probe<Never>(demand: .unlimited)
      Guarantee.value(7).publisher.subscribe(probe)
      #expect(probe.events == ["subscription", "7", "finished"])
    }

    @Test func guaranteeThatIsBroken_endsWithoutAValue() {
      let probe = Probe<Never>(demand: .unlimited)
      let (guarantee, resolver) = Guarantee<Int>.withResolvers()
      guarantee.publisher.subscribe(probe)
      guarantee.promise.cancel()
      #expect(probe.events == ["subscription"])
      resolver.fulfill(8)
      #expect(probe.events == ["subscription", "8", "finished"])
      let broken = Probe<Never>(demand: .unlimited)
      Guarantee<Int> { _ in }.publisher.subscribe(broken)
      #expect(broken.events == ["subscription", "finished"])
    }

    @Test func settlementAgainstCancellation_inManyRounds_leavesNothingBehind() async throws {
      let tracker = LifetimeTracker()
      for start in stride(from: 0, to: 100_000, by: 1000) {
        let rounds = (start..<start + 1000).map { _ in
          let (promise, resolver) = Promise<Int>.withResolvers()
          let probe = Probe<any Error>(demand: .unlimited, token: tracker.track())
          promise.publisher.subscribe(probe)
          return (probe, resolver)
        }
        let settling = Task.detached { for round in rounds { round.1.fulfill(1) } }
        for round in rounds.reversed() { round.0.cancel() }
        await settling.value
        for round in rounds {
          let events = round.0.events
          // Cancelled or completed, or cancelled between the value and the completion.
          #expect((1...3).contains(events.count))
        }
      }
      #expect(tracker.madeCount == 100_000)
      try await tracker.expectNoneAlive()
    }
  }

  /// A subscriber that records the events that it receives.
  ///
  /// `@unchecked Sendable`: the box guards everything except the recorder and the token, which are
  /// `Sendable`.
  final class Probe<Failure: Error>: Subscriber, Cancellable, @unchecked Sendable {
    typealias Input = Int

    private let recorder = Recorder<String>()
    private let demand: Subscribers.Demand
    private let cancelsOn: String?
    private let token: LifetimeTracker.Token?
    private let subscription = Box<Subscription?>(nil)

    init(
      demand: Subscribers.Demand = .none, cancelsOn: String? = nil,
      token: LifetimeTracker.Token? = nil
    ) {
      self.demand = demand
      self.cancelsOn = cancelsOn
      self.token = token
    }

    var events: [String] { recorder.events }
    func request(_ demand: Subscribers.Demand) { subscription.value?.request(demand) }
    func cancel() { subscription.exchange(nil)?.cancel() }

    func receive(subscription: any Subscription) {
      self.subscription.exchange(subscription)
      record("subscription")
      if demand > .none { request(demand) }
    }

    func receive(_ input: Int) -> Subscribers.Demand {
      record("\(input)")
      return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) {
      switch completion {
      case .finished: record("finished")
      case .failure(let error): record("\(error)")
      }
      subscription.exchange(nil)
    }

    private func record(_ event: String) {
      recorder.record(event)
      if event == cancelsOn { cancel() }
    }
  }
#endif
