import Dispatch
import Pledge
import PledgeTesting
import Testing

// The clauses of https://promisesaplus.com that the type system enforces have no test:
//
// - 2.2.1: there is no `then` without a handler.
// - 2.2.5: closures have no `this`.
// - 2.3.3, 2.3.3.1, 2.3.3.2, 2.3.3.4, 2.3.4: the operator (`then` or `map`) determines whether a
//   handler returns a promise or a value; no property `then` is looked up. Other promise types
//   conform to `Thenable`, for which 2.3.3.3 is tested.
// - 2.3.3.3.1: a `Thenable` delivers a value, not another thenable.

/// Promises/A+, clause by clause, as far as typed Swift allows.
@Suite struct APlus {
  // 2.1: promise states.

  @Test(arguments: When.allCases)
  func clause_2_1_2_fulfilled_neverChanges(when: When) async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    #expect(promise.isPending)
    if when == .later { DispatchQueue.global().async { resolver.fulfill(1) } }
    if when != .later { resolver.fulfill(1) }
    try await expectFulfillment(of: promise, with: 1)
    resolver.reject(Boom())
    resolver.fulfill(2)
    promise.cancel()
    try await expectFulfillment(of: promise, with: 1)
  }

  @Test(arguments: When.allCases)
  func clause_2_1_3_rejected_neverChanges(when: When) async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    if when == .later { DispatchQueue.global().async { resolver.reject(Boom()) } }
    if when != .later { resolver.reject(Boom()) }
    try await expectRejection(of: promise, with: Boom())
    resolver.fulfill(2)
    resolver.reject(OtherError())
    promise.cancel()
    try await expectRejection(of: promise, with: Boom())
  }

  // 2.2: `then`.

  @Test(arguments: When.allCases)
  func clause_2_2_2_onFulfilled_isCalledOnce_afterFulfilment_withTheValue(
    when: When
  ) async throws {
    let calls = Recorder<Int>()
    let then = when.fulfill(5) { promise in
      promise.done {
        #expect(!promise.isPending)
        calls.record($0)
      }
    }
    try await expectFulfillment(of: then)
    try calls.expect([5])
  }

  @Test(arguments: When.allCases)
  func clause_2_2_3_onRejected_isCalledOnce_afterRejection_withTheReason(
    when: When
  ) async throws {
    let calls = Recorder<Boom?>()
    let then = when.reject(Boom(code: 5)) { promise in
      promise.catch {
        #expect(!promise.isPending)
        calls.record($0 as? Boom)
      }
    }
    await then.value
    try calls.expect([Boom(code: 5)])
  }

  @Test(arguments: When.allCases)
  func clause_2_2_4_handlersRunOnACleanStack(when: When) throws {
    let executor = ManualExecutor()
    let calls = CallCounter()
    if when == .later { return }
    when.fulfill(1) { promise in
      promise.done(on: executor) { _ in calls.call() }.ignoreErrors()
      #expect(calls.count == 0)
    }
    _ = when.reject { promise in promise.catch(on: executor) { _ in calls.call() } }
    #expect(calls.count == 0)
    executor.runAll()
    #expect(calls.count == 2)
  }

  @Test(arguments: When.allCases)
  func clause_2_2_6_thenMayBeCalledManyTimes_andHandlersRunInOrder(when: When) async throws {
    let queue = DispatchQueue(label: "a+")
    let order = Recorder<Int>()
    let all = when.fulfill(0) { promise in
      (0..<5).map { n in
        promise.map(on: queue) { value in
          order.record(n)
          if n == 2 { throw Boom() }
          return value
        }
      }
    }
    try await waitForPromises(all)
    try order.expect([0, 1, 2, 3, 4])
    try await expectRejection(of: all[2], with: Boom())
    try await expectFulfillment(of: all[3], with: 0)
    let errors = Recorder<Int>()
    let caught = when.reject { promise in
      (0..<5).map { n in promise.catch(on: queue) { _ in errors.record(n) }.promise }
    }
    try await waitForPromises(caught)
    try errors.expect([0, 1, 2, 3, 4])
  }

  @Test(arguments: When.allCases)
  func clause_2_2_7_1_aReturnedValueOrPromise_resolvesTheNext(when: When) async throws {
    try await expectFulfillment(of: when.fulfill(1) { $0.map { "\($0)" } }, with: "1")
    try await expectFulfillment(of: when.fulfill(1) { $0.then { .value("\($0)") } }, with: "1")
    let recovered = when.reject { $0.recover { _ in Promise.value(2) } }
    try await expectFulfillment(of: recovered, with: 2)
  }

  @Test(arguments: When.allCases)
  func clause_2_2_7_2_aThrow_rejectsTheNext(when: When) async throws {
    let threw = when.fulfill(1) { $0.map { _ -> Int in throw Boom(code: 1) } }
    try await expectRejection(of: threw, with: Boom(code: 1))
    let again: Promise<Int> = when.reject { promise in
      promise.recover { _ throws -> Promise<Int> in throw Boom(code: 2) }
    }
    try await expectRejection(of: again, with: Boom(code: 2))
  }

  @Test(arguments: When.allCases)
  func clause_2_2_7_3_aValuePassesThroughHandlersOfErrors(when: When) async throws {
    let value = when.fulfill(1) { $0.recover { _ in Promise.value(2) } }
    try await expectFulfillment(of: value, with: 1)
  }

  @Test(arguments: When.allCases)
  func clause_2_2_7_4_aReasonPassesThroughHandlersOfValues(when: When) async throws {
    let reason = when.reject { $0.map { $0 + 1 }.then { Promise.value($0) }.get { _ in } }
    try await expectRejection(of: reason, with: Boom())
  }

  // 2.3: the promise resolution procedure.

  @Test(arguments: When.allCases)
  func clause_2_3_1_returningItself_rejects(when: When) async throws {
    let itself = Box<Promise<Int>?>(nil)
    let executor = ManualExecutor()
    let promise = when.fulfill(1) { promise in
      promise.then(on: executor) { _ in itself.value ?? .value(0) }
    }
    itself.value = promise
    try await waitUntil { executor.runAll() > 0 }
    try await expectRejection(of: promise, with: PromiseError.returnedItself)
    itself.value = nil
  }

  @Test func clause_2_3_2_1_aPendingPromise_keepsTheNextPending() async throws {
    let (inner, resolver) = Promise<Int>.withResolvers()
    let next = Promise.value(0).then(on: .immediate) { _ in inner }
    try expectPending(next)
    resolver.fulfill(1)
    try await expectFulfillment(of: next, with: 1)
  }

  @Test(arguments: When.allCases, When.allCases)
  func clause_2_3_2_2_aFulfilledPromise_givesItsValue(when: When, inner: When) async throws {
    let next = when.fulfill(0) { $0.then { _ in inner.fulfill(7) { $0 } } }
    try await expectFulfillment(of: next, with: 7)
  }

  @Test(arguments: When.allCases, When.allCases)
  func clause_2_3_2_3_aRejectedPromise_givesItsReason(when: When, inner: When) async throws {
    let next = when.fulfill(0) { $0.then { _ in inner.reject(Boom(code: 7)) { $0 } } }
    try await expectRejection(of: next, with: Boom(code: 7))
    let recovered = when.reject { $0.recover { _ in inner.reject(Boom(code: 8)) { $0 } } }
    try await expectRejection(of: recovered, with: Boom(code: 8))
  }

  /// A foreign thenable whose behavior the test specifies.
  struct Foreign: Thenable {
    let outcomes: [Result<Int, any Error>]
    func observe(_ handler: @escaping @Sendable (Result<Int, any Error>) -> Void) {
      for outcome in outcomes { handler(outcome) }
    }
  }

  @Test func clause_2_3_3_3_theFirstCallOfAForeignThenable_counts() async throws {
    for (outcomes, expected) in [
      ([Result<Int, any Error>.success(1), .success(2)], "fulfilled: 1"),
      ([.success(1), .failure(Boom())], "fulfilled: 1"),
      ([.failure(Boom()), .success(1)], "rejected: \(Boom())"),
    ] {
      let next = Promise.value(0).then { _ in Foreign(outcomes: outcomes) }
      _ = await next.result
      #expect(next.state == expected)
    }
  }

  @Test func clause_2_3_3_3_aForeignThenableThatNeverCalls_breaksThePromise() async throws {
    let next = Promise.value(0).then { _ in Foreign(outcomes: []) }
    try await expectRejection(of: next, with: BrokenPromiseError.self)
  }
}
