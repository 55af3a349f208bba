import Foundation
import XCTest

@testable import Promises

final class ChainingTests: XCTestCase {
  func test_catch_seesTheErrorAndPassesItOn() {
    let log = Recorder<String>()
    let fulfilled = Promise(1).catch { _ in XCTFail("called") }
    let queue = MarkedQueue()
    let promise = Promise<Int>(Failure.first)
      .catch { error in log.record("\(error as? Failure == .first)") }
      .catch(on: queue.queue) { _ in log.record("\(queue.isCurrent)") }
    settle()
    XCTAssertEqual(fulfilled.value, 1)
    XCTAssertEqual(log.events, ["true", "true"])
    XCTAssertEqual(promise.error as? Failure, .first)
  }

  func test_catch_givesNSErrorsAsTheyAre_orAsPromiseErrors() {
    let log = Recorder<String>()
    let error = NSError(domain: "test", code: 1, userInfo: ["key": "value"])
    Promise<Int>(error).catch { log.record("\($0 as NSError === error)") }
    for code in [1, 2, 3] {
      Promise<Int>(NSError(domain: PromiseError.errorDomain, code: code)).catch {
        log.record(($0 as? PromiseError).map { "\($0)" } ?? "\(($0 as NSError).code)")
      }
    }
    settle()
    XCTAssertEqual(log.events, ["true", "timedOut", "validationFailure", "3"])
  }

  func test_always_runsForBothOutcomesAndPassesThemOn() {
    let log = Recorder<String>()
    let value = Promise(1).always { log.record("value") }
    let error = Promise<Int>(Failure.first).always { log.record("error") }
    settle()
    XCTAssertEqual(log.events, ["value", "error"])
    XCTAssertEqual(value.value, 1)
    XCTAssertEqual(error.error as? Failure, .first)
  }

  func test_recover_replacesTheError() {
    let log = Recorder<String>()
    let value = Promise<Int>(Failure.first).recover { error -> Int in
      log.record("\(error as? Failure == .first)")
      return 1
    }
    let promise = Promise<Int>(Failure.first).recover { _ in Promise<Int> { 2 } }
    let thrown = Promise<Int>(Failure.first).recover { _ -> Int in throw Failure.second }
    let thrown2 = Promise<Int>(Failure.first).recover { _ -> Promise<Int> in throw Failure.second }
    let untouched = Promise(3).recover { _ -> Int in
      XCTFail("called")
      return 4
    }
    let untouched2 = Promise(3).recover { _ -> Promise<Int> in
      XCTFail("called")
      return Promise(4)
    }
    settle()
    XCTAssertEqual(log.events, ["true"])
    XCTAssertEqual(value.value, 1)
    XCTAssertEqual(promise.value, 2)
    XCTAssertEqual(thrown.error as? Failure, .second)
    XCTAssertEqual(thrown2.error as? Failure, .second)
    XCTAssertEqual(untouched.value, 3)
    XCTAssertEqual(untouched2.value, 3)
  }

  func test_validate_rejectsWhatIsNotAccepted() {
    let accepted = Promise(1).validate { $0 == 1 }
    let refused = Promise(1).validate { $0 == 2 }
    let failed = Promise<Int>(Failure.first).validate { _ in
      XCTFail("called")
      return true
    }
    let log = Recorder<String>()
    refused.catch { log.record("\($0 is PromiseError)") }
    settle()
    XCTAssertEqual(accepted.value, 1)
    XCTAssertEqual(refused.error as? PromiseError, .validationFailure)
    XCTAssertEqual(failed.error as? Failure, .first)
    XCTAssertEqual(log.events, ["true"])
  }

  func test_reduce_goesFromLeftToRight() {
    let log = Recorder<String>()
    let promise = Promise("0").reduce(1, 2, 3) { text, number in
      Promise<String> {
        log.record("\(number)")
        return "\(text), \(number)"
      }
    }
    let sequence = Promise(0).reduce([1, 2, 3]) { sum, number in Promise(sum + number) }
    let labelled = Promise(0).reduce(1, 2, combine: { sum, number in Promise(sum + number) })
    let lazily = Promise(0).reduce(on: .global(), stride(from: 0, to: 10, by: 5)) {
      XCTAssertTrue(Thread.isMainThread)
      return Promise($0 + $1)
    }
    settle()
    XCTAssertEqual(promise.value, "0, 1, 2, 3")
    XCTAssertEqual(log.events, ["1", "2", "3"])
    XCTAssertEqual(sequence.value, 6)
    XCTAssertEqual(labelled.value, 3)
    XCTAssertEqual(lazily.value, 5)
  }

  func test_reduce_endsWithTheFirstError() {
    let log = Recorder<String>()
    let promise = Promise(0).reduce([1, 2, 3]) { sum, number -> Promise<Int> in
      log.record("\(number)")
      if number == 2 { throw Failure.first }
      return Promise(sum + number)
    }
    let rejected = Promise(0).reduce([1, 2]) { _, _ in Promise(Failure.second) }
    settle()
    XCTAssertEqual(promise.error as? Failure, .first)
    XCTAssertEqual(log.events, ["1", "2"])
    XCTAssertEqual(rejected.error as? Failure, .second)
  }

  func test_reduce_ofNothing_isTheSamePromise() {
    let promise = Promise(1)
    XCTAssertTrue(promise.reduce([Int]()) { sum, _ in Promise(sum) } === promise)
  }
}
