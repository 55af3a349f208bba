@_spi(DropIns) import Pledge

/// All consumers of a promise see the same result; what one of them does doesn't affect the others.
@Suite struct SharedOutcomes {
  // Some tests leave errors unhandled.
  init() { DiagnosticsLog.install() }

  @Test func errorOfARejectedPromise_isReportedThoughALateConsumerCancelled() async throws {
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
