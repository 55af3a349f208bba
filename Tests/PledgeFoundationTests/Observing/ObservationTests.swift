import Observation

@MainActor @Observable private final class Model {
  var title = "a"
  var count = 0
}

/// Records whether it's released on the main actor.
private final class Witness {
  private let released: Recorder<Bool>
  init(_ released: Recorder<Bool>) { self.released = released }
  deinit { released.record(ExecutorProbe.main.isCurrent) }
}

private actor Keeper {
  @Observable final class State { var count = 0 }
  let state = State()

  func next() -> Guarantee<Int> { Guarantee.next { self.state.count } }
  func raise() { state.count += 1 }
}

extension FoundationTests {
  @Suite @MainActor struct Observing {
    private let model = Model()

    @Test func next_isFulfilledWithTheNewValue() async throws {
      let next = Guarantee.next { model.title }
      #expect(next.isPending)
      model.count = 5
      model.title = "b"
      #expect(await next.value == "b")
      model.title = "c"
      #expect(await next.value == "b")
    }

    @Test func next_afterSeveralChangesInOneGo_hasTheLastValue() async throws {
      let next = Guarantee.next { "\(model.title)\(model.count)" }
      model.title = "b"
      model.count = 1
      model.count = 2
      #expect(await next.value == "b2")
    }

    @Test func next_where_waitsForTheValueThatIsWanted() async throws {
      let evaluated = CallCounter()
      let next = Guarantee.next(
        of: {
          evaluated.call()
          return model.count
        }, where: { $0 > 2 })
      for count in 1...3 {
        #expect(next.isPending)
        model.count = count
        try await waitUntil { evaluated.count == count + 1 }
      }
      #expect(await next.value == 3)
    }

    @Test func next_inAnActor_isEvaluatedThere() async throws {
      let keeper = Keeper()
      let next = await keeper.next()
      await keeper.raise()
      #expect(await next.value == 1)
    }

    @Test func next_cancelledOnAnotherThread_releasesTheClosuresOnTheActor() async throws {
      let released = Recorder<Bool>()
      let next = {
        let (title, wanted) = (Witness(released), Witness(released))
        return Guarantee.next {
          withExtendedLifetime(title) { model.title }
        } where: { _ in
          withExtendedLifetime(wanted) { true }
        }.promise
      }()
      try await Promise(on: .global) { next.cancel() }.value
      try await waitUntil { released.events.count == 2 }
      #expect(released.events == [true, true])
    }

    @Test func next_cancelledAfterTheChange_isCancelled() async throws {
      let next = Guarantee.next { model.title }.promise
      model.title = "b"
      next.cancel()
      await #expect(throws: CancellationError.self) { try await next.value }
    }

    @Test func next_onceFulfilled_releasesTheObject() async throws {
      weak var witness: Model?
      do {
        let model = Model()
        witness = model
        let next = Guarantee.next { model.title }
        model.title = "b"
        _ = await next.value
      }
      try await waitUntil { witness == nil }
    }

    @Test func next_onceCancelled_leavesNoObserver() async throws {
      let state = SharedState()
      weak var reader: Reader?
      do {
        let owner = Reader(state)
        reader = owner
        for _ in 0..<100 { await owner.next().promise.cancel() }
      }
      // The property has never changed. If it still had an observer, this would retain its actor.
      try await waitUntil { reader == nil }
      withExtendedLifetime(state) {}
    }
  }
}

/// `@unchecked Sendable`: only the reader uses the property.
@Observable private final class SharedState: @unchecked Sendable { var count = 0 }

private actor Reader {
  private let state: SharedState
  init(_ state: SharedState) { self.state = state }

  func next() -> Guarantee<Int> { Guarantee.next { [state] in state.count } }
}
