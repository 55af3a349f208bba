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
    let log = Recorder<String>()
    let promise = retry(attempts: 3, delay: 0.01) { () -> Promise<Int> in
      log.record("try")
      return Promise(log.count < 4 ? Failure.first : Failure.second)
    }
    settle()
    XCTAssertEqual(log.count, 4)
    XCTAssertEqual(promise.error as? Failure, .second)
  }

  func test_retry_whenItThrows_triesAgainOnTheQueue() {
    let queue = MarkedQueue()
    let log = Recorder<String>()
    let promise = retry(on: queue.queue, attempts: 2, delay: 0.01) { () -> Promise<Int> in
      log.record("\(queue.isCurrent)")
      if log.count < 3 { throw Failure.first }
      return Promise(42)
    }
    settle()
    XCTAssertEqual(log.events, ["false", "true", "true"])
    XCTAssertEqual(promise.value, 42)
  }

  func test_retry_asksTheConditionWithWhatIsLeft_andEndsWhenItSaysNo() {
    for (attempts, least, tries, questions) in [
      (3, 0, 4, ["3 first", "2 first", "1 first"]), (5, 5, 2, ["5 first", "4 first"]),
      (0, 0, 1, []), (-1, 0, 1, []),
    ] {
      let (calls, asked) = (Recorder<String>(), Recorder<String>())
      let promise = retry(
        attempts: attempts, delay: 0.01,
        condition: { count, error in
          asked.record("\(count) \(error)")
          return count >= least
        }
      ) { () -> Promise<Int> in
        calls.record("try")
        return Promise(Failure.first)
      }
      settle()
      XCTAssertEqual(calls.count, tries)
      XCTAssertEqual(asked.events, questions)
      XCTAssertEqual(promise.error as? Failure, .first)
    }
  }

  func test_retry_byDefault_triesAgainOnceAfterOneSecond() {
    XCTAssertEqual(__FBLPromiseRetryDefaultAttemptsCount, 1)
    XCTAssertEqual(__FBLPromiseRetryDefaultDelayInterval, 1.0)
    let log = Recorder<String>()
    let start = Date()
    let promise = retry { () -> Promise<Int> in
      log.record("try")
      return Promise(Failure.first)
    }
    settle()
    XCTAssertEqual(log.count, 2)
    XCTAssertGreaterThanOrEqual(Date().timeIntervalSince(start), 1)
    XCTAssertTrue(promise.isRejected)
  }
}
