/// Contract, lines 5 to 7; `Operators` tests each executor that `on:` can name.
@Suite struct ExecutionContract {
  @MainActor @Test(arguments: When.allCases)
  func line5_omittedInMainActorCode_runsOnTheMainActor(when: When) async throws {
    var count = 0
    let promise = when.fulfill(1) { promise in
      promise.map { value in
        MainActor.assertIsolated()
        count += value
        return count
      }
    }
    try await expectFulfillment(of: promise, with: 1)
    #expect(count == 1)
  }

  @Test(arguments: When.allCases)
  func line5_omittedInActorCode_runsOnThatActor(when: When) async throws {
    actor Counter {
      var count = 0
      func add(when: When) -> Promise<Int> {
        when.fulfill(3) { promise in
          promise.map { value in
            self.assertIsolated()
            self.count += value
            return self.count
          }.then { value in
            self.assertIsolated()
            self.count += value
            return .value(self.count)
          }
        }
      }
    }
    try await expectFulfillment(of: Counter().add(when: when), with: 6)
  }

  @Test(arguments: When.allCases)
  func line5_omittedInNonisolatedCode_runsOnTheGlobalExecutor(when: When) async throws {
    let promise = when.fulfill(1) { promise in
      promise.done { _ in try Place.global.probe.expectCurrent() }
    }
    try await expectFulfillment(of: promise)
  }

  @MainActor @Test func line5_executorGivenInMainActorCode_leavesTheMainActor() async throws {
    let place = Place.serialQueue
    let promise = Promise.value(1).done(on: place.executor) { _ in try place.probe.expectCurrent() }
    try await expectFulfillment(of: promise)
  }

  // A handler may block until another one on its concurrent queue has run, so no handler that it
  // makes ready may be deferred until it returns.
  @Test(.timeLimit(.minutes(10)), arguments: [true, false])
  func line6_handlerThatBlocksForAnother_onOneConcurrentQueue(inPlaceBetween: Bool) async throws {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let (start, resolver) = Promise<Void>.withResolvers()
    let end = start.map(on: queue) {
      let hasRun = DispatchSemaphore(value: 0)
      let (signal, signalResolver) = Promise<Void>.withResolvers()
      let link = inPlaceBetween ? signal.map(on: .immediate) {} : signal
      let follower = link.done(on: queue) { _ in hasRun.signal() }
      signalResolver.fulfill()
      hasRun.wait()
      _ = follower
    }
    resolver.fulfill()
    try await expectFulfillment(of: end)
  }

  @Test(.timeLimit(.minutes(10)))
  func line6_handlerInPlaceThatBlocksForAnother_onOneConcurrentQueue() async throws {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let hasRun = DispatchSemaphore(value: 0)
    let (start, resolver) = Promise<Void>.withResolvers()
    let first = start.map(on: queue) {}
    let follower = first.done(on: queue) { _ in hasRun.signal() }
    let end = first.done(on: .immediate) { _ in hasRun.wait() }
    resolver.fulfill()
    try await expectFulfillment(of: end)
    try await expectFulfillment(of: follower)
  }

  // The same from a `deinit` that the engine triggers while it has a handler to run next.
  @Test(.timeLimit(.minutes(10)))
  func line6_deinitThatBlocksForAnother_onOneConcurrentQueue() async throws {
    final class Blocking: Sendable {
      let hasRun = DispatchSemaphore(value: 0)
      deinit { Promise.value(hasRun).done(on: .immediate) { $0.wait() }.ignoreErrors() }
    }
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    func chain() -> (Promise<Void>, Resolver<Blocking>) {
      let (start, resolver) = Promise<Blocking>.withResolvers()
      let end = start.map(on: queue) { $0.hasRun }.done(on: queue) { _ = $0.signal() }
      return (end, resolver)
    }
    var (end, resolver): (Promise<Void>, Resolver<Blocking>?) = chain()
    resolver?.fulfill(Blocking())
    resolver = nil
    try await expectFulfillment(of: end)
  }

  @Test(arguments: [false, true])
  func line6_handlerReturningItsPromise_rejectsWithAnErrorThatSaysSo(cleansUp: Bool) async throws {
    let (start, resolver) = Promise<Int>.withResolvers()
    let itself = Box<Promise<Int>?>(nil)
    let promise =
      cleansUp
      ? start.finallyThen { itself.value ?? .value(0) }
      : start.then(on: .immediate) { _ in itself.value ?? .value(0) }
    itself.value = promise
    resolver.fulfill(1)
    try await expectRejection(of: promise, with: PromiseError.returnedItself)
    #expect(PromiseError.returnedItself.description.contains("waiting for it"))
    itself.value = nil
  }

  // At a size suitable for every run; `Stress/Depth.swift` has larger ones, and loops.
  @Test(.apart) func line7_longChain_settlesInConstantStack() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    var last = promise
    for _ in 0..<50_000 { last = last.map { $0 + 1 } }
    resolver.fulfill(0)
    try await expectFulfillment(of: last, with: 50_000, within: .seconds(60))
  }
}
