import Foundation
import XCTest

@testable import Promises

final class TimeTests: XCTestCase {
  func test_timeout_rejectsWhatTakesTooLong() {
    let never = Promise<Int>()
    let log = Recorder<String>()
    let promise = never.timeout(0.02)
    promise.catch { log.record("\($0 as? PromiseError == .timedOut) \($0 is PromiseError)") }
    spin(until: log.count == 1)
    XCTAssertEqual(promise.error as? PromiseError, .timedOut)
    XCTAssertEqual(log.events, ["true true"])
    never.fulfill(1)
    settle()
    XCTAssertTrue(promise.isRejected)
  }

  func test_timeout_leavesWhatIsInTime() {
    let value = Promise<Int> { 1 }.timeout(10)
    let error = Promise<Int>(Failure.first).timeout(10)
    settle()
    XCTAssertEqual(value.value, 1)
    XCTAssertEqual(error.error as? Failure, .first)
  }

  func test_timeout_doesNotKeepItsPromise() {
    weak var weakPromise: Promise<Int>?
    do {
      let source = Promise<Int>()
      weakPromise = source.timeout(1000)
      XCTAssertNotNil(weakPromise)
    }
    XCTAssertNil(weakPromise)
    settle()
  }

  func test_delay_holdsBackTheValue() {
    let start = Date()
    let queue = MarkedQueue()
    let promise = Promise(1).delay(0.1)
    let other = Promise(1).delay(on: queue.queue, 0.05)
    settle()
    XCTAssertGreaterThanOrEqual(Date().timeIntervalSince(start), 0.1)
    XCTAssertEqual(promise.value, 1)
    XCTAssertEqual(other.value, 1)
  }

  func test_delay_passesAnErrorOnAtOnce() {
    let promise = Promise<Int>(Failure.first).delay(100_000)
    settle()
    XCTAssertEqual(promise.error as? Failure, .first)
  }

  func test_intervals_mayBeExtreme() {
    let source = Promise<Int>()
    for interval in [TimeInterval.infinity, .greatestFiniteMagnitude, 1e12] {
      XCTAssertTrue(source.timeout(interval).isPending)
    }
    let promise = Promise(1).delay(-1)
    let late = source.timeout(-.infinity)
    source.fulfill(1)
    settle()
    XCTAssertEqual(promise.value, 1)
    XCTAssertFalse(late.isPending)
  }
}
