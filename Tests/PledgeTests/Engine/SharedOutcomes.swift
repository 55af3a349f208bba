import Dispatch
@_spi(DropIns) import Pledge
import PledgeTesting
import Testing

/// All consumers of a promise see the same result; what one of them does doesn't affect the others.
@Suite struct SharedOutcomes {
  // Some tests leave errors unhandled.
  init() { DiagnosticsLog.install() }

  // A promise that adopted a shared one is cancelled while that one settles.
  @Test func cancelledOuter_hasOneOutcomeForAll() async throws {
    for _ in 0..<(isFullRun ? 200_000 : 300) {
      let (inner, resolver) = Promise<Int>.withResolvers()
      inner.done(on: .immediate) { _ in }.ignoreErrors()
      let outer = Promise.value(1).then(on: .immediate) { _ in inner }
      let heard = Recorder<String>()
      outer.observe(on: .immediate) { heard.record("\($0)") }
      await collide({ outer.cancel() }, { resolver.fulfill(7) })
      #expect(heard.events.count == 1)
      let later = Recorder<String>()
      outer.observe(on: .immediate) { later.record("\($0)") }
      #expect(later.events == heard.events)
      #expect(outer.currentResult.map { "\($0)" } == heard.events.first)
    }
  }

  // A resolver is released while its promise is cancelled.
  @Test func producerThatWasTold_seesACancellation() async throws {
    for _ in 0..<(isFullRun ? 200_000 : 300) {
      let told = Recorder<Void>()
      let box = Box<Resolver<Int>?>(nil)
      let promise = Promise<Int> { resolver in
        resolver.onCancel { told.record(()) }
        box.value = resolver
      }
      await collide({ promise.cancel() }, { box.value = nil })
      guard case .failure(let error) = promise.currentResult else {
        Issue.record("pending")
        return
      }
      promise.ignoreErrors()
      #expect((error is CancellationError) == (told.events.count == 1))
    }
  }

  // Two threads close a cycle of promises that wait for each other.
  @Test func cycleThatIsClosedByTwoThreads_isRejected() async throws {
    for _ in 0..<(isFullRun ? 200_000 : 300) {
      let (first, second) = (Promise<Void>.withResolvers(), Promise<Void>.withResolvers())
      let other = Box<Promise<Void>?>(nil)
      let one = first.promise.then(on: .immediate) { other.value ?? .value(()) }
      let two = second.promise.then(on: .immediate) { one }
      other.value = two
      await collide({ first.resolver.fulfill() }, { second.resolver.fulfill() })
      #expect(one.state == "rejected: \(PromiseError.returnedItself)")
      #expect(two.state == "rejected: \(PromiseError.returnedItself)")
      one.ignoreErrors()
      two.ignoreErrors()
      other.value = nil
    }
  }

  @Test func cancelledOuter_sparesALateObserverOfThePromiseInTheMiddle() throws {
    let (innermost, resolver) = Promise<Int>.withResolvers()
    let (first, second) = (Promise<Int>.withResolvers(), Promise<Int>.withResolvers())
    let inner = first.promise.then(on: .immediate) { _ in innermost }
    let outer = second.promise.then(on: .immediate) { _ in inner }
    second.resolver.fulfill(1)
    first.resolver.fulfill(1)
    let late = inner.map(on: .immediate) { $0 + 1 }
    outer.cancel()
    #expect(outer.state == "rejected: \(CancellationError())")
    resolver.fulfill(1)
    #expect(late.state == "fulfilled: 2")
    #expect(inner.state == "fulfilled: 1")
  }

  @Test func errorOfASharedPromise_isReportedThoughAnotherConsumerCancelled() async throws {
    DiagnosticsLog.install()
    struct OfShared: Error {}
    do {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let leaving = promise.map(on: .immediate) { $0 }
      _ = promise.map(on: .immediate) { $0 }
      leaving.cancel()
      resolver.reject(OfShared())
    }
    #expect(DiagnosticsLog.reports(of: OfShared()).count == 1)
  }

  @Test func errorOfARejectedPromise_isReportedThoughALateConsumerCancelled() async throws {
    DiagnosticsLog.install()
    struct OfRejected: Error {}
    let executor = ManualExecutor()
    do {
      let promise = Promise<Int>.rejected(OfRejected())
      _ = promise.map(on: .immediate) { $0 }
      let leaving = promise.recover(on: executor) { _ in Promise.value(1) }
      leaving.cancel()
    }
    executor.runAll()
    #expect(DiagnosticsLog.reports(of: OfRejected()).count == 1)
  }

  @Test func errorOfARejectedPromise_isReportedThoughACancelledHandlerReturnedIt() async throws {
    DiagnosticsLog.install()
    struct OfReturned: Error {}
    do {
      let promise = Promise<Int>.rejected(OfReturned())
      _ = promise.map(on: .immediate) { $0 }
      let (start, resolver) = Promise<Int>.withResolvers()
      let outer = Box<Promise<Int>?>(nil)
      outer.value = start.then(on: .immediate) { _ in
        outer.value?.cancel()
        return promise
      }
      resolver.fulfill(1)
      outer.value = nil
    }
    #expect(DiagnosticsLog.reports(of: OfReturned()).count == 1)
  }

  @Test func errorOfASharedPromise_isReportedThoughAFollowerWasCancelled() async throws {
    DiagnosticsLog.install()
    struct OfFollowed: Error {}
    do {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let (following, follower) = Promise<Int>.withResolvers()
      // Rejects the promise when the follower is cancelled, before its observer is removed.
      follower.onCancel { resolver.reject(OfFollowed()) }
      follower.resolve(with: promise)
      _ = promise.map(on: .immediate) { $0 }
      following.cancel()
    }
    #expect(DiagnosticsLog.reports(of: OfFollowed()).count == 1)
  }

  // The cancelled consumer was the only one that could receive the error.
  @Test func errorForACancelledConsumerAlone_isNotReported() async throws {
    DiagnosticsLog.install()
    struct ForOneAlone: Error {}
    let executor = ManualExecutor()
    do {
      let leaving = Promise<Int>.rejected(ForOneAlone()).recover(on: executor) { _ in
        Promise.value(1)
      }
      leaving.cancel()
    }
    executor.runAll()
    #expect(DiagnosticsLog.reports(of: ForOneAlone()).isEmpty)
  }
}
