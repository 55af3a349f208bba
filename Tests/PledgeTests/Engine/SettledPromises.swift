import Dispatch
import Pledge
import PledgeTesting
import Testing

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

  @Test(.timeLimit(.minutes(10)))
  func handlerInPlaceThatBlocks_delaysNoLaterAdopter() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let gate = DispatchSemaphore(value: 0)
    let slow = promise.done(on: .immediate) { _ in gate.wait() }
    let adopters = [
      Promise.value(0).then(on: .immediate) { _ in promise },
      Promise.all([promise]).map(on: .immediate) { $0[0] },
      Promise.race([promise]), promise.uncancellable(), promise.timeout(after: .seconds(3600)),
    ]
    let served = Promise.all(adopters).done(on: .global) { _ in gate.signal() }
    DispatchQueue(label: "settling").async { resolver.fulfill(1) }
    try await expectFulfillment(of: served)
    try await expectFulfillment(of: slow)
  }

  @Test(.timeLimit(.minutes(10)))
  func handlerInPlace_canWaitForAnAdopterThatCameLater() throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let seen = Box<Int?>(nil)
    let outer = Box<Promise<Int>?>(nil)
    promise.done(on: .immediate) { _ in seen.value = try outer.value?.wait() }.ignoreErrors()
    outer.value = Promise.value(0).then(on: .immediate) { _ in promise }
    resolver.fulfill(1)
    #expect(seen.value == 1)
  }
}
