import Foundation
import XCTest

@testable import Promises

final class CreationTests: XCTestCase {
  func test_pendingAndInit_arePending() {
    for promise in [Promise<Int>.pending(), Promise<Int>()] {
      XCTAssertTrue(promise.isPending)
      XCTAssertFalse(promise.isFulfilled)
      XCTAssertFalse(promise.isRejected)
      XCTAssertNil(promise.value)
      XCTAssertNil(promise.error)
      promise.fulfill(1)
      XCTAssertTrue(promise.isFulfilled)
      XCTAssertEqual(promise.value, 1)
    }
    settle()
  }

  func test_autoclosure_isEvaluatedInTheCall() {
    func fail() throws -> Int { throw Failure.second }
    XCTAssertEqual(Promise(6 * 7).value, 42)
    XCTAssertEqual(Promise(try fail()).error as? Failure, .second)
    var calls = 0
    func count() -> Int {
      calls += 1
      return calls
    }
    let promise = Promise(count())
    XCTAssertEqual(calls, 1)
    XCTAssertEqual(promise.value, 1)
  }

  func test_autoclosure_withNil_fulfills() {
    let promise = Promise<Int?>(nil)
    XCTAssertTrue(promise.isFulfilled)
    XCTAssertNil(promise.value as Any?)
    let log = Recorder<String>()
    promise.then { log.record("\($0 as Any)") }
    settle()
    XCTAssertEqual(log.events, ["nil"])
  }

  func test_firstResolutionWins() {
    let fulfilled = Promise<Int>()
    fulfilled.fulfill(1)
    fulfilled.fulfill(2)
    fulfilled.reject(Failure.first)
    XCTAssertEqual(fulfilled.value, 1)
    let rejected = Promise<Int>()
    rejected.reject(Failure.first)
    rejected.fulfill(2)
    rejected.reject(Failure.second)
    XCTAssertEqual(rejected.error as? Failure, .first)
    let born = Promise(1)
    born.fulfill(2)
    born.reject(Failure.first)
    XCTAssertEqual(born.value, 1)
  }

  func test_async_runsOnItsQueueAfterTheCall() {
    let queue = MarkedQueue()
    var hasReturned = false
    let promise = Promise<Int> { fulfill, _ in
      XCTAssertTrue(Thread.isMainThread)
      XCTAssertTrue(hasReturned)
      fulfill(1)
    }
    let other = Promise<Int>(on: queue.queue) { _, reject in
      XCTAssertTrue(queue.isCurrent)
      reject(Failure.first)
    }
    XCTAssertTrue(promise.isPending)
    hasReturned = true
    settle()
    XCTAssertEqual(promise.value, 1)
    XCTAssertEqual(other.error as? Failure, .first)
  }

  func test_async_whenItThrows_rejectsUnlessResolved() {
    let rejected = Promise<Int> { _, _ in throw Failure.first }
    let fulfilled = Promise<Int> { fulfill, _ in
      fulfill(1)
      throw Failure.first
    }
    settle()
    XCTAssertEqual(rejected.error as? Failure, .first)
    XCTAssertEqual(fulfilled.value, 1)
  }

  func test_do_takesTheReturnedValueOrError() {
    let queue = MarkedQueue()
    let value = Promise<Int> { 42 }
    let failed = Promise<Int> { throw Failure.first }
    let other = Promise<Bool>(on: queue.queue) { queue.isCurrent }
    XCTAssertTrue(value.isPending)
    settle()
    XCTAssertEqual(value.value, 42)
    XCTAssertEqual(failed.error as? Failure, .first)
    XCTAssertEqual(other.value, true)
  }

  func test_do_withPromise_adoptsIt() {
    let inner = Promise<Int>()
    let value = Promise<Int> { inner }
    let failed = Promise<Int> { Promise<Int>(Failure.first) }
    let thrown = Promise<Int> { () -> Promise<Int> in throw Failure.second }
    DispatchQueue.main.async { inner.fulfill(7) }
    settle()
    XCTAssertEqual(value.value, 7)
    XCTAssertEqual(failed.error as? Failure, .first)
    XCTAssertEqual(thrown.error as? Failure, .second)
  }

  func test_do_convertsBetweenTypesThatFit() {
    let wider = Promise<Any> { 42 }
    let optional = Promise<Int?> { () -> Int in 42 }
    let promised = Promise<Any> { Promise<Int>(42) }
    settle()
    XCTAssertEqual(wider.value as? Int, 42)
    XCTAssertEqual(optional.value, 42)
    XCTAssertEqual(promised.value as? Int, 42)
  }

  func test_do_infersFromContext() {
    func make() -> Promise<Int> { Promise { 42 } }
    func makeLater() -> Promise<Int> { Promise { fulfill, _ in fulfill(43) } }
    let (first, second) = (make(), makeLater())
    settle()
    XCTAssertEqual(first.value, 42)
    XCTAssertEqual(second.value, 43)
  }

  func test_void_works() {
    let promise = Promise(())
    let worked = Promise<Void> {}
    settle()
    XCTAssertTrue(promise.isFulfilled)
    XCTAssertTrue(worked.isFulfilled)
  }

  func test_fulfill_withPromise_doesNotAdopt() {
    let inner = Promise<Int>()
    let promise = Promise<Promise<Int>>()
    promise.fulfill(inner)
    XCTAssertTrue(promise.value === inner)
    inner.fulfill(1)
  }

  func test_fulfillAndReject_fromManyThreads_resolveOnce() {
    for _ in 0..<50 {
      let promise = Promise<Int>()
      let log = Recorder<String>()
      promise.then { log.record("\($0)") }.catch { _ in log.record("error") }
      DispatchQueue.concurrentPerform(iterations: 8) { index in
        if index % 2 == 0 { promise.fulfill(index) } else { promise.reject(Failure.first) }
      }
      settle()
      XCTAssertEqual(log.count, 1)
    }
  }

  func test_description() {
    XCTAssertEqual("\(Promise<Int>.pending())", "Pending: Int")
    XCTAssertEqual("\(Promise<Int?>.pending())", "Pending: Optional<Int>")
    XCTAssertEqual("\(Promise(42))", "Fulfilled: 42")
    XCTAssertEqual("\(Promise<String>("a"))", "Fulfilled: a")
    XCTAssertEqual("\(Promise<Int?>(nil))", "Fulfilled: nil")
    XCTAssertEqual("\(Promise<Int?>(42))", "Fulfilled: Optional(42)")
    XCTAssertEqual("\(Promise<Int>(PromiseError.timedOut))", "Rejected: timedOut")
    XCTAssertEqual("\(Promise<Int>(Failure.first))", "Rejected: first")
    let error = NSError(domain: PromiseError.errorDomain, code: 2)
    XCTAssertEqual("\(Promise<Int>(error))", "Rejected: validationFailure")
  }
}
