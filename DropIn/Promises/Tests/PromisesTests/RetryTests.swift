import FBLPromises
import Foundation
import XCTest

@testable import Promises

final class RetryTests: XCTestCase {
  func test_retry_runsTheFirstTryInsideTheCall() {
    var calls = 0
    let promise = retry { () -> Promise<Int> in
      calls += 1
      return Promise(calls)
    }
    XCTAssertEqual(calls, 1)
    settle()
    XCTAssertEqual(promise.value, 1)
  }

  func test_retry_triesAgainAndEndsWithTheLastError() {
    let log = Log()
    let promise = retry(attempts: 3, delay: 0.01) { () -> Promise<Int> in
      log.add("try")
      return Promise(log.count < 4 ? Failure.first : Failure.second)
    }
    settle()
    XCTAssertEqual(log.count, 4)
    XCTAssertEqual(promise.error as? Failure, .second)
  }

  func test_retry_whenItThrows_triesAgainOnTheQueue() {
    let queue = MarkedQueue()
    let log = Log()
    let promise = retry(on: queue.queue, attempts: 2, delay: 0.01) { () -> Promise<Int> in
      log.add("\(queue.isCurrent)")
      if log.count < 3 { throw Failure.first }
      return Promise(42)
    }
    settle()
    XCTAssertEqual(log.all, ["false", "true", "true"])
    XCTAssertEqual(promise.value, 42)
  }

  func test_retry_asksTheConditionWithWhatIsLeft() {
    let log = Log()
    let promise = retry(
      attempts: 3, delay: 0.01,
      condition: { count, error in
        log.add("\(count) \(error)")
        return true
      }
    ) { Promise<Int>(Failure.first) }
    settle()
    XCTAssertEqual(log.all, ["3 first", "2 first", "1 first"])
    XCTAssertEqual(promise.error as? Failure, .first)
  }

  func test_retry_whenTheConditionSaysNo_ends() {
    let log = Log()
    let promise = retry(attempts: 5, delay: 0.01, condition: { count, _ in count > 4 }) {
      () -> Promise<Int> in
      log.add("try")
      return Promise(Failure.first)
    }
    settle()
    XCTAssertEqual(log.count, 2)
    XCTAssertEqual(promise.error as? Failure, .first)
  }

  func test_retry_withoutAttempts_triesOnce() {
    for count in [0, -1] {
      let log = Log()
      let promise = retry(
        attempts: count,
        condition: { _, _ in
          XCTFail("asked")
          return true
        }
      ) { () -> Promise<Int> in
        log.add("try")
        throw Failure.first
      }
      settle()
      XCTAssertEqual(log.count, 1)
      XCTAssertTrue(promise.isRejected)
    }
  }

  func test_retry_byDefault_triesAgainOnceAfterOneSecond() {
    XCTAssertEqual(__FBLPromiseRetryDefaultAttemptsCount, 1)
    XCTAssertEqual(__FBLPromiseRetryDefaultDelayInterval, 1.0)
    let log = Log()
    let start = Date()
    let promise = retry { () -> Promise<Int> in
      log.add("try")
      return Promise(Failure.first)
    }
    settle()
    XCTAssertEqual(log.count, 2)
    XCTAssertGreaterThanOrEqual(Date().timeIntervalSince(start), 1)
    XCTAssertTrue(promise.isRejected)
  }
}
