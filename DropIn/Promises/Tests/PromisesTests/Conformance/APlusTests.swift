import Foundation
import XCTest

@testable import Promises

// The clauses of https://promisesaplus.com that have no test here:
//
// - 2.2.1: there is no `then` without a handler.
// - 2.2.5: closures have no `this`.
// - 2.3.1 isn't met: a promise that its own handler returns waits for itself, as in the original.
// - 2.3.3, 2.3.4: the type determines whether a handler returns a promise or a value; there is no
//   protocol to which foreign thenables conform.

/// Promises/A+, clause by clause, as far as the types of Promises allow.
final class APlusTests: XCTestCase {
  /// Settles a promise before and after `attach` is called, and checks the result.
  private func eachTime<U>(
    _ outcome: Result<Int, Failure>, _ attach: (Promise<Int>) -> Promise<U>,
    then check: (Promise<U>) -> Void
  ) {
    for isSettledBefore in [true, false] {
      let promise = Promise<Int>.pending()
      let resolve = {
        switch outcome {
        case .success(let value): promise.fulfill(value)
        case .failure(let error): promise.reject(error)
        }
      }
      if isSettledBefore { resolve() }
      let next = attach(promise)
      resolve()
      settle()
      check(next)
    }
  }

  // 2.1: promise states.

  func test_2_1_2_aFulfilledPromise_neverChanges() {
    let promise = Promise<Int>.pending()
    XCTAssertTrue(promise.isPending)
    promise.fulfill(1)
    promise.reject(Failure.first)
    promise.fulfill(2)
    XCTAssertEqual(promise.value, 1)
    XCTAssertNil(promise.error)
  }

  func test_2_1_3_aRejectedPromise_neverChanges() {
    let promise = Promise<Int>.pending()
    promise.reject(Failure.first)
    promise.fulfill(1)
    promise.reject(Failure.second)
    XCTAssertEqual(promise.error as? Failure, .first)
    XCTAssertNil(promise.value)
  }

  // 2.2: `then`.

  func test_2_2_2_onFulfilled_isCalledOnce_afterFulfilment_withTheValue() {
    let log = Log()
    eachTime(.success(5)) { promise in
      promise.then { value -> Int in
        XCTAssertFalse(promise.isPending)
        log.add("\(value)")
        return value
      }
    } then: {
      XCTAssertEqual($0.value, 5)
    }
    XCTAssertEqual(log.all, ["5", "5"])
  }

  func test_2_2_3_onRejected_isCalledOnce_afterRejection_withTheReason() {
    let log = Log()
    eachTime(.failure(.first)) { promise in
      promise.catch { error in
        XCTAssertFalse(promise.isPending)
        log.add("\(error)")
      }
    } then: {
      XCTAssertEqual($0.error as? Failure, .first)
    }
    XCTAssertEqual(log.all, ["first", "first"])
  }

  func test_2_2_4_handlersRunOnACleanStack() {
    let log = Log()
    eachTime(.success(5)) { promise in
      let count = log.count
      let next = promise.then { value -> Int in
        log.add("\(value)")
        return value
      }
      XCTAssertEqual(log.count, count)
      return next
    } then: { _ in
    }
    XCTAssertEqual(log.count, 2)
  }

  func test_2_2_6_thenMayBeCalledManyTimes_andHandlersRunInOrder() {
    let log = Log()
    eachTime(.success(5)) { promise in
      for number in 0..<5 {
        promise.then { _ -> Int in
          log.add("\(number)")
          if number == 2 { throw Failure.second }
          return number
        }
      }
      return promise
    } then: { _ in
    }
    XCTAssertEqual(log.all, ["0", "1", "2", "3", "4", "0", "1", "2", "3", "4"])
    let errors = Log()
    eachTime(.failure(.first)) { promise in
      for number in 0..<5 { promise.catch { _ in errors.add("\(number)") } }
      return promise
    } then: { _ in
    }
    XCTAssertEqual(errors.all, log.all)
  }

  func test_2_2_7_1_aReturnedValueOrPromise_resolvesTheNext() {
    eachTime(.success(1)) {
      $0.then { value -> Int in value + 1 }
    } then: {
      XCTAssertEqual($0.value, 2)
    }
    eachTime(.success(1)) {
      $0.then { value in Promise<Int>(value + 1) }
    } then: {
      XCTAssertEqual($0.value, 2)
    }
    eachTime(.failure(.first)) {
      $0.recover { _ in Promise<Int>(3) }
    } then: {
      XCTAssertEqual($0.value, 3)
    }
  }

  func test_2_2_7_2_aThrow_rejectsTheNext() {
    eachTime(.success(1)) {
      $0.then { _ -> Int in throw Failure.second }
    } then: {
      XCTAssertEqual($0.error as? Failure, .second)
    }
    eachTime(.failure(.first)) {
      $0.recover { _ -> Promise<Int> in throw Failure.second }
    } then: {
      XCTAssertEqual($0.error as? Failure, .second)
    }
  }

  func test_2_2_7_3_aValuePassesThroughHandlersOfErrors() {
    eachTime(.success(1)) {
      $0.catch { _ in XCTFail("called") }.recover { _ in Promise<Int>(2) }
    } then: {
      XCTAssertEqual($0.value, 1)
    }
  }

  func test_2_2_7_4_aReasonPassesThroughHandlersOfValues() {
    eachTime(.failure(.first)) {
      $0.then { value -> Int in value }.then { value in Promise<Int>(value) }
    } then: {
      XCTAssertEqual($0.error as? Failure, .first)
    }
  }

  // 2.3.2: a handler returns a promise.

  func test_2_3_2_1_aPendingPromise_keepsTheNextPending() {
    let inner = Promise<Int>.pending()
    let log = Log()
    let next = Promise(0).then { _ -> Promise<Int> in
      log.add("called")
      return inner
    }
    spin(until: log.count == 1)
    spinForAMoment()
    XCTAssertTrue(next.isPending)
    inner.fulfill(1)
    settle()
    XCTAssertEqual(next.value, 1)
  }

  func test_2_3_2_2_aFulfilledPromise_givesItsValue() {
    eachTime(.success(0)) {
      $0.then { _ in Promise<Int>(7) }
    } then: {
      XCTAssertEqual($0.value, 7)
    }
  }

  func test_2_3_2_3_aRejectedPromise_givesItsReason() {
    eachTime(.success(0)) {
      $0.then { _ in Promise<Int>(Failure.second) }
    } then: {
      XCTAssertEqual($0.error as? Failure, .second)
    }
  }
}
