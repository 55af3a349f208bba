import Pledge
import PledgeTesting
import Testing

/// Cancelling promises that adopted another one.
@Suite struct AdoptionCancellation {
  let told = CallCounter()
  let inner = Promise<Int>.withResolvers()
  let start = Promise<Void>.withResolvers()

  init() {
    // Some tests drop the inner promise.
    DiagnosticsLog.install()
    inner.resolver.onCancel { [told] in told.call() }
    start.promise.ignoreErrors()
  }

  @Test func throughSeveralLevels_reachesTheInnermost() async throws {
    let outer = start.promise.then(on: .immediate) { [inner] in
      Promise.value(1).then(on: .immediate) { _ in
        Promise.value(2).then(on: .immediate) { _ in inner.promise }
      }
    }
    start.resolver.fulfill()
    outer.cancel()
    try await expectCancellation(of: outer)
    try told.expectOnce()
  }

  @Test func cancellationWhileTheHandlerRuns_reachesThePromiseItReturns() async throws {
    let executor = ManualExecutor()
    let outerBox = Box<Promise<Int>?>(nil)
    let outer = start.promise.then(on: executor) { [inner] in
      outerBox.value?.cancel()
      return inner.promise
    }
    outerBox.value = outer
    start.resolver.fulfill()
    executor.runAll()
    try await expectCancellation(of: outer)
    try told.expectOnce()
    outerBox.value = nil
  }

  @Test(arguments: [true, false])
  func outerCancelledByName_isRejectedForLateComersToo(sharedBefore: Bool) async throws {
    var other: Promise<Int>?
    if sharedBefore { other = inner.promise.map { $0 + 1 } }
    let outer = start.promise.then(on: .immediate) { [inner] in inner.promise }
    start.resolver.fulfill()
    if !sharedBefore { other = inner.promise.map { $0 + 1 } }
    outer.cancel()
    #expect(!outer.isPending)
    #expect(outer.isCancelled)
    #expect(!inner.promise.isCancelled)
    try await expectCancellation(of: outer.map { $0 })
    try expectPending(inner.promise)
    outer.ignoreErrors()
    try told.expectNever()
    inner.resolver.fulfill(1)
    try await expectFulfillment(of: try #require(other), with: 2)
  }

  @Test func recoverAndFinally_adoptToo() async throws {
    let recovered = Promise<Int>.rejected(Boom()).recover(on: .immediate) { [inner] _ in
      inner.promise
    }
    recovered.cancel()
    try await expectCancellation(of: recovered)
    try told.expectOnce()

    let cleanup = Promise<Void>.withResolvers()
    let finished = Promise.value(1).finallyThen { cleanup.promise }
    finished.cancel()
    try await expectCancellation(of: finished)
    // Cleanup isn't cancelled together with the operation.
    #expect(cleanup.promise.isPending)
  }

  @Test func resolverThatFollowsAPromise_withdrawsFromIt() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    resolver.resolve(with: inner.promise)
    promise.cancel()
    try await expectCancellation(of: promise)
    try told.expectOnce()
  }

  // An outer promise whose inner promise had no observer when it was returned, so both share a
  // cell.

  @Test func consumersOfTheInner_doNotCancelTheOuter_whichWaitsForItToo() async throws {
    let outer = start.promise.then(on: .immediate) { [inner] in inner.promise }
    start.resolver.fulfill()
    let late = inner.promise.timeout(after: .zero)
    try await expectRejection(of: late, with: TimeoutError.self)
    let other = inner.promise.map(on: .immediate) { $0 }
    other.cancel()
    try await expectCancellation(of: other)
    try told.expectNever()
    inner.resolver.fulfill(7)
    try await expectFulfillment(of: outer, with: 7)
  }

  @Test(arguments: [true, false])
  func consumersOfTheInnerAndOfTheOuter_tellTheProducerOnce_whenAllHaveCancelled(
    outerFirst: Bool
  ) async throws {
    let outer = start.promise.then(on: .immediate) { [inner] in inner.promise }
    start.resolver.fulfill()
    let ofOuter = [outer.map(on: .immediate) { $0 }, outer.map(on: .immediate) { $0 }]
    let ofInner = inner.promise.map(on: .immediate) { $0 }
    let order = outerFirst ? ofOuter + [ofInner] : [ofInner] + ofOuter
    for promise in order.dropLast() {
      promise.cancel()
      try await expectCancellation(of: promise)
      try told.expectNever()
      try expectPending(inner.promise)
    }
    order.last?.cancel()
    try told.expectOnce()
    try await expectCancellation(of: outer)
    try await expectCancellation(of: inner.promise)
  }

  @Test func whenAllConsumersOfTheOuterHaveCancelled_itIsCancelled_andTheInnerGoesOn() async throws
  {
    let outer = start.promise.then(on: .immediate) { [inner] in inner.promise }
    start.resolver.fulfill()
    let ofInner = inner.promise.map(on: .immediate) { $0 }
    let shielded = outer.uncancellable()
    let ofOuter = outer.map(on: .immediate) { $0 }
    ofOuter.cancel()
    try expectPending(outer)
    // The uncancellable promise remains a consumer, even when its result is cancelled.
    shielded.cancel()
    try expectPending(outer)
    inner.resolver.fulfill(3)
    try await expectFulfillment(of: ofInner, with: 3)
    try await expectFulfillment(of: outer, with: 3)
    try told.expectNever()
  }
}
