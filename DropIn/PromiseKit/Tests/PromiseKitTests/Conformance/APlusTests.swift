import PromiseKit
import XCTest

// The clauses of https://promisesaplus.com that have no test here:
//
// - 2.2.1: there is no `then` without a handler.
// - 2.2.4: `on: nil` runs a handler in place on purpose; with a queue, the clause is tested.
// - 2.2.5: closures have no `this`.
// - 2.3.3, 2.3.3.1, 2.3.3.2, 2.3.3.4, 2.3.4: the operator determines whether a handler returns a
//   thenable or a value; no property `then` is looked up.
// - 2.3.3.3.1: a thenable of another class delivers a value, not another thenable.
// - 2.3.3.3.4: `pipe` doesn't throw; a thenable that fails after it has settled settles twice.

/// Promises/A+, clause by clause, as far as PromiseKit's types allow.
final class APlusTests: PromiseKitTestCase {
  /// Settles a promise before and after `attach` is called, and checks the result.
  private func eachTime<U: Thenable>(
    _ result: PromiseKit.Result<Int>, _ attach: (Promise<Int>) -> U,
    then check: (U) throws -> Void
  ) rethrows {
    for isSettledBefore in [true, false] {
      let (promise, seal) = Promise<Int>.pending()
      if isSettledBefore { seal.resolve(result) }
      let next = attach(promise)
      seal.resolve(result)
      resolution(of: next)
      try check(next)
    }
  }

  // 2.1: promise states.

  func test_2_1_2_aFulfilledPromise_neverChanges() {
    let (promise, seal) = Promise<Int>.pending()
    XCTAssertTrue(promise.isPending)
    seal.fulfill(1)
    seal.reject(TestError.dummy)
    seal.fulfill(2)
    XCTAssertEqual(promise.value, 1)
  }

  func test_2_1_3_aRejectedPromise_neverChanges() {
    let (promise, seal) = Promise<Int>.pending()
    seal.reject(TestError.dummy)
    seal.fulfill(1)
    seal.reject(TestError.other)
    XCTAssertEqual(promise.error as? TestError, .dummy)
  }

  // 2.2: `then`.

  func test_2_2_2_onFulfilled_isCalledOnce_afterFulfilment_withTheValue() throws {
    let calls = Recorder<Int>()
    eachTime(.fulfilled(5)) { promise in
      promise.done {
        XCTAssertTrue(promise.isFulfilled)
        calls.record($0)
      }
    } then: {
      XCTAssertTrue($0.isFulfilled)
    }
    XCTAssertEqual(calls.values, [5, 5])
  }

  func test_2_2_3_onRejected_isCalledOnce_afterRejection_withTheReason() {
    let calls = Recorder<TestError?>()
    eachTime(.rejected(TestError.dummy)) { promise in
      promise.recover { error in
        XCTAssertTrue(promise.isRejected)
        calls.record(error as? TestError)
        return .value(0)
      } as Guarantee<Int>
    } then: {
      XCTAssertEqual($0.value, 0)
    }
    XCTAssertEqual(calls.values, [.dummy, .dummy])
  }

  func test_2_2_4_onAQueue_handlersRunOnACleanStack() {
    let calls = Recorder<Int>()
    eachTime(.fulfilled(5)) { promise in
      let count = calls.values.count
      let next = promise.done(on: .main) { calls.record($0) }
      XCTAssertEqual(calls.values.count, count)
      return next
    } then: {
      XCTAssertTrue($0.isFulfilled)
    }
    XCTAssertEqual(calls.values, [5, 5])
  }

  func test_2_2_6_thenMayBeCalledManyTimes_andHandlersRunInOrder() {
    for outcome in [PromiseKit.Result.fulfilled(5), .rejected(TestError.dummy)] {
      let calls = Recorder<Int>()
      eachTime(outcome) { promise in
        let all = (0..<5).map { number in promise.tap { _ in calls.record(number) } }
        return when(resolved: all)
      } then: { _ in
      }
      XCTAssertEqual(calls.values, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
    }
  }

  func test_2_2_7_1_aReturnedValueOrThenable_resolvesTheNext() {
    eachTime(.fulfilled(1)) {
      $0.map { $0 + 1 }
    } then: {
      XCTAssertEqual($0.value, 2)
    }
    eachTime(.fulfilled(1)) {
      $0.then { Promise.value($0 + 1) }
    } then: {
      XCTAssertEqual($0.value, 2)
    }
    eachTime(.rejected(TestError.dummy)) {
      $0.recover { _ in Promise.value(3) }
    } then: {
      XCTAssertEqual($0.value, 3)
    }
  }

  func test_2_2_7_2_aThrow_rejectsTheNext() {
    eachTime(.fulfilled(1)) {
      $0.map { _ -> Int in throw TestError.other }
    } then: {
      XCTAssertEqual($0.error as? TestError, .other)
    }
    eachTime(.rejected(TestError.dummy)) {
      $0.recover { _ -> Promise<Int> in throw TestError.other }
    } then: {
      XCTAssertEqual($0.error as? TestError, .other)
    }
  }

  func test_2_2_7_3_aValuePassesThroughHandlersOfErrors() {
    eachTime(.fulfilled(1)) {
      $0.recover { _ in Promise.value(2) }
    } then: {
      XCTAssertEqual($0.value, 1)
    }
  }

  func test_2_2_7_4_aReasonPassesThroughHandlersOfValues() {
    eachTime(.rejected(TestError.dummy)) {
      $0.map { $0 }.then { Promise.value($0) }
    } then: {
      XCTAssertEqual($0.error as? TestError, .dummy)
    }
  }

  // 2.3: the promise resolution procedure.

  func test_2_3_1_returningItself_rejects() {
    var itself: Promise<Int>?
    let promise = Promise.value(1).then(on: .main) { itself ?? Promise.value($0) }
    itself = promise
    assertCase(error(of: promise)) { $0.isReturnedSelf }
    itself = nil
  }

  func test_2_3_2_1_aPendingPromise_keepsTheNextPending() {
    let (inner, seal) = Promise<Int>.pending()
    let next = Promise.value(0).then(on: nil) { _ in inner }
    XCTAssertTrue(next.isPending)
    seal.fulfill(1)
    XCTAssertEqual(next.value, 1)
  }

  func test_2_3_2_2_aFulfilledPromise_givesItsValue() {
    let next = Promise.value(0).then(on: nil) { _ in Promise.value(7) }
    XCTAssertEqual(next.value, 7)
  }

  func test_2_3_2_3_aRejectedPromise_givesItsReason() {
    let next = Promise.value(0).then(on: nil) { _ in Promise<Int>(error: TestError.dummy) }
    XCTAssertEqual(next.error as? TestError, .dummy)
  }

  // 2.3.3.3: thenables of other classes, whether or not they behave correctly.

  func test_2_3_3_3_1_and_2_aForeignThenable_givesItsOutcome_atOnceOrLater() {
    for outcome in [PromiseKit.Result.fulfilled(7), .rejected(TestError.dummy)] {
      for isSettledBefore in [true, false] {
        let foreign = Foreign<Int>()
        if isSettledBefore { foreign.resolve(outcome) }
        let next = Promise.value(0).then(on: nil) { _ in foreign }
        XCTAssertEqual(next.isPending, !isSettledBefore)
        if !isSettledBefore {
          let isFulfilled = outcome.isFulfilled
          DispatchQueue.global().async {
            foreign.resolve(isFulfilled ? .fulfilled(7) : .rejected(TestError.dummy))
          }
        }
        resolution(of: next)
        XCTAssertEqual(next.value, outcome.isFulfilled ? 7 : nil)
        XCTAssertEqual(next.error as? TestError, outcome.isFulfilled ? nil : .dummy)
      }
    }
  }

  /// Calls back any number of times.
  private final class Unruly: Thenable {
    private let outcomes: [PromiseKit.Result<Int>]
    private let isAsync: Bool
    var result: PromiseKit.Result<Int>? { nil }

    init(_ outcomes: [PromiseKit.Result<Int>], isAsync: Bool) {
      self.outcomes = outcomes
      self.isAsync = isAsync
    }

    func pipe(to: @escaping (PromiseKit.Result<Int>) -> Void) {
      for outcome in outcomes {
        if isAsync { DispatchQueue.main.async { to(outcome) } } else { to(outcome) }
      }
    }
  }

  func test_2_3_3_3_3_theFirstCallOfAForeignThenable_counts() {
    for isAsync in [true, false] {
      for (outcomes, expected) in [
        ([PromiseKit.Result.fulfilled(1), .fulfilled(2)], 1),
        ([.fulfilled(1), .rejected(TestError.dummy)], 1),
        ([.rejected(TestError.dummy), .fulfilled(1)], nil),
        ([.rejected(TestError.dummy), .rejected(TestError.other)], nil),
      ] {
        let calls = Recorder<Int>()
        let next = Promise.value(0).then(on: nil) { _ in Unruly(outcomes, isAsync: isAsync) }
        let end = next.tap { _ in calls.record(1) }
        resolution(of: end)
        XCTAssertEqual(next.value, expected)
        XCTAssertEqual(next.error as? TestError, expected == nil ? .dummy : nil)
        XCTAssertEqual(calls.values, [1])
      }
    }
  }
}
