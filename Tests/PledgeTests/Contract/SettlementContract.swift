/// Contract, lines 1 to 4.
@Suite struct SettlementContract {
  // Some tests leave errors unhandled.
  init() { DiagnosticsLog.install() }

  @Test(arguments: [true, false])
  func line1_promiseSettlesOnce_firstSettlementWins(isFulfilled: Bool) {
    let (promise, resolver) = Promise<Int>.withResolvers()
    #expect(resolver.isPending)
    #expect(isFulfilled ? resolver.fulfill(1) : resolver.reject(Boom(code: 1)))
    #expect(!resolver.isPending)
    #expect(!resolver.fulfill(2))
    #expect(!resolver.reject(Boom()))
    #expect(!resolver.resolve(.success(3)))
    #expect(!resolver.resolve(Result<Int, Boom>.failure(Boom())))
    #expect(promise.state == (isFulfilled ? "fulfilled: 1" : "rejected: Boom(code: 1)"))
  }

  @Test(arguments: When.allCases, Place.all)
  func line2_handlerRunsOnce_afterAttachAndOutsideSettle(when: When, place: Place) async throws {
    if place.description == "immediate" { return }
    let queue = place.executor
    let calls = CallCounter()
    // True while the test thread attaches and settles. In that time, a handler can run on another
    // thread, but never on this thread inside these calls.
    let busy = Box<Bool>(true)
    let testThread = ThreadMark()
    let promise = when.fulfill(1) { promise in
      promise.map(on: queue) { value in
        calls.call()
        #expect(!(busy.value && testThread.isCurrent), "ran inside attach or settle")
        return value
      }
    }
    busy.value = false
    try await expectFulfillment(of: promise, with: 1)
    try calls.expectOnce()
  }

  @Test func line2_manualExecutor_nothingRunsInsideAttachOrSettle() throws {
    let (executor, calls) = (ManualExecutor(), CallCounter())
    let (promise, resolver) = Promise<Int>.withResolvers()
    let first = promise.done(on: executor) { _ in calls.call() }
    resolver.fulfill(1)
    let second = promise.done(on: executor) { _ in calls.call() }
    #expect(calls.count == 0)
    #expect(first.isPending && second.isPending)
    #expect(executor.runAll() == 2)
    try calls.expect(2)
    executor.runAll()
    try calls.expect(2)
  }

  @Test func line2_immediate_optsOut() {
    let order = Recorder<String>()
    let (promise, resolver) = Promise<Int>.withResolvers()
    promise.done(on: .immediate) { _ in order.record("first") }.ignoreErrors()
    resolver.fulfill(1)
    order.record("settled")
    promise.done(on: .immediate) { _ in order.record("second") }.ignoreErrors()
    order.record("attached")
    #expect(order.events == ["first", "settled", "second", "attached"])
  }

  @Test func line3_userCode_mayUseItsOwnPromiseFromEverywhere() async throws {
    // If the library held a lock, any of these calls would hang or trap.
    final class Reentrant: Sendable {
      let promise: Promise<Int>
      let seen: Recorder<String>
      init(_ promise: Promise<Int>, _ seen: Recorder<String>) {
        self.promise = promise
        self.seen = seen
      }
      deinit {
        promise.done(on: .immediate) { [seen] in seen.record("deinit \($0)") }.ignoreErrors()
      }
    }
    let seen = Recorder<String>()
    let (promise, resolver) = Promise<Int>.withResolvers()
    promise.map(on: .immediate) { [token = Reentrant(promise, seen)] value in
      _ = token
      #expect(!promise.isPending)
      #expect(!resolver.fulfill(3))
      promise.done(on: .immediate) { seen.record("nested \($0)") }.ignoreErrors()
      promise.cancel()
      return value
    }.ignoreErrors()
    resolver.fulfill(1)
    #expect(seen.events == ["nested 1", "deinit 1"])
  }

  @Test func line3_onCancel_mayUseThePromise() {
    let seen = Recorder<String>()
    let (promise, resolver) = Promise<Int>.withResolvers()
    resolver.onCancel {
      seen.record("cancelled")
      #expect(promise.isPending)
      promise.cancel()
      resolver.onCancel { seen.record("told at once") }
      promise.catch(on: .immediate) { seen.record("\(type(of: $0))") }
    }
    promise.cancel()
    #expect(seen.events == ["cancelled", "told at once", "CancellationError"])
  }

  @Test func line3_unhandledRejectionHook_mayUsePromises() async throws {
    DiagnosticsLog.install()
    // The error is released inside the settlement of another promise.
    let (promise, resolver) = Promise<Promise<Int>?>.withResolvers()
    let done = promise.done(on: .immediate) { _ in }
    resolver.fulfill(.rejected(Boom(code: 333)))
    try await expectFulfillment(of: done)
  }

  @Test(arguments: [Place.immediate, .serialQueue, .main, .actor, .custom])
  func line4_handlersOnOneSerialExecutor_runInOrder(place: Place) async throws {
    for _ in 0..<20 {
      let order = Recorder<Int>()
      let (promise, resolver) = Promise<Int>.withResolvers()
      var all: [Promise<Void>] = []
      for index in 0..<10 {
        all.append(promise.done(on: place.executor) { _ in order.record(index) })
      }
      DispatchQueue.global().async { resolver.fulfill(1) }
      // Attached before, during, or after the settlement, depending on timing.
      for index in 10..<200 {
        all.append(promise.done(on: place.executor) { _ in order.record(index) })
      }
      try await waitForPromises(all)
      if place.description != "immediate" {
        try order.expect(Array(0..<200))
      } else {
        #expect(order.events.sorted() == Array(0..<200))
      }
    }
  }

  @Test func line4_handlersAttachedInsideHandlers_runAfterThoseBefore() {
    let (executor, order, promise) = (ManualExecutor(), Recorder<Int>(), Promise.value(1))
    promise.done(on: executor) { _ in
      order.record(1)
      promise.done(on: executor) { _ in order.record(3) }.ignoreErrors()
    }.ignoreErrors()
    promise.done(on: executor) { _ in order.record(2) }.ignoreErrors()
    executor.runAll()
    #expect(order.events == [1, 2, 3])
  }

  @Test(arguments: [false, true])
  @MainActor func line4_operatorsThatGetErrors_runInOrder(attachingFirst: Bool) async {
    let order = Recorder<Int>()
    let (promise, resolver) = Promise<Int>.withResolvers()
    if !attachingFirst { resolver.reject(Boom(code: 4)) }
    promise.tap { _ in order.record(1) }.ignoreErrors()
    promise.mapResult { _ in order.record(2) }.ignoreErrors()
    promise.catch(only: Boom.self) { _ in order.record(3) }.ignoreErrors()
    promise.catch(only: Boom(code: 4)) { order.record(4) }.ignoreErrors()
    promise.finally { order.record(5) }.ignoreErrors()
    promise.recover(only: Boom.self) { _ in
      order.record(6)
      return .value(1)
    }.ignoreErrors()
    promise.replaceError(only: Boom.self) { _ in
      order.record(7)
      return 1
    }.ignoreErrors()
    promise.mapError { error in
      order.record(8)
      return error
    }.ignoreErrors()
    let last = promise.catch { _ in order.record(9) }
    if attachingFirst { resolver.reject(Boom(code: 4)) }
    await last.value
    #expect(order.events == [1, 2, 3, 4, 5, 6, 7, 8, 9])
  }

  @Test func line4_throughAChainOnAQueue_followersDoNotOvertake() async throws {
    let (queue, order) = (DispatchQueue(label: "order"), Recorder<Int>())
    let (promise, resolver) = Promise<Int>.withResolvers()
    let (other, otherResolver) = Promise<Int>.withResolvers()
    let done = [
      promise.done(on: queue) { _ in
        order.record(1)
        otherResolver.fulfill(1)
      },
      other.done(on: queue) { _ in order.record(3) },
      promise.done(on: queue) { _ in order.record(2) },
      other.done(on: queue) { _ in order.record(4) },
    ]
    // Both handlers of the first promise are in the queue before one of them runs.
    queue.suspend()
    resolver.fulfill(1)
    queue.resume()
    try await waitForPromises(done)
    try order.expect([1, 2, 3, 4])
  }
}
