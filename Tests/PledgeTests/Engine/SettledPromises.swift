@_spi(DropIns) import Pledge

/// A settled promise serves all threads immediately, even while one of its handlers runs in place.
@Suite(.apart) struct SettledPromises {
  @Test(.timeLimit(.minutes(10)))
  func handlerInPlace_canWaitForAnotherHandlerOfItsPromise() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let seen = Box<Int?>(nil)
    promise.done(on: .immediate) { _ in
      seen.value = try promise.map(on: .global) { $0 + 1 }.wait()
    }.ignoreErrors()
    _ = await outsideTasks { resolver.fulfill(1) }
    #expect(seen.value == 2)
  }

  @Test func handlerInPlace_seesItsPromiseSettled() {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let seen = Box<[String]>([])
    promise.done(on: .immediate) { _ in
      seen.update {
        $0.append(promise.map(on: .immediate) { $0 + 1 }.state)
        $0.append(Promise<[Int]>.all([promise, promise]).state)
        $0.append(promise.timeout(after: .zero).state)
      }
    }.ignoreErrors()
    resolver.fulfill(1)
    #expect(seen.value == ["fulfilled: 2", "fulfilled: [1, 1]", "fulfilled: 1"])
  }

  // This crashed in optimized code, in which the compiler moves a retain.
  @Test(arguments: [Place.global, .serialQueue])
  func handlersCancelledOnTheirWayToTheirExecutor_areSkipped(place: Place) async throws {
    let settled = Promise.value(1)
    for _ in 0..<(isFullRun ? 100_000 : 25_000) {
      settled.map(on: place.executor) { $0 }.cancel()
      settled.tap(on: place.executor) { _ in }.cancel()
    }
    try await expectFulfillment(of: settled.map(on: place.executor) { $0 + 1 }, with: 2)
  }

  @Test func deeplyNestedErrors_areDescribedAndReleased_withLittleStack() throws {
    var last = Promise<Int>.rejected(Boom())
    for _ in 0..<50_000 { last = .any([last]) }
    let error = try #require(throws: AggregateError.self) { try last.wait() }
    #expect(error.description.hasSuffix("…"))
  }
}
