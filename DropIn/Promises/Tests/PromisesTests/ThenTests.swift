import Foundation
import XCTest

@testable import Promises

final class ThenTests: XCTestCase {
  func test_then_withValue_fulfillsWithIt() {
    let promise = Promise(6).then { $0 * 7 }.then { "\($0)" }
    XCTAssertTrue(promise.isPending)
    settle()
    XCTAssertEqual(promise.value, "42")
  }

  func test_then_withPromise_adoptsIt() {
    let promise = Promise(6).then { number in Promise<Int> { number * 7 } }
    let failed = Promise(6).then { _ in Promise<Int>(Failure.first) }
    settle()
    XCTAssertEqual(promise.value, 42)
    XCTAssertEqual(failed.error as? Failure, .first)
  }

  func test_then_withVoid_passesTheValueOn() {
    let log = Recorder<String>()
    let promise: Promise<Int> = Promise(6).then { log.record("\($0)") }.then { value in
      log.record("\(value)")
    }
    settle()
    XCTAssertEqual(promise.value, 6)
    XCTAssertEqual(log.events, ["6", "6"])
  }

  func test_then_whenRejected_isNotCalled() {
    let promise = Promise<Int>(Failure.first)
      .then { _ in XCTFail("called") }
      .then { _ -> Int in
        XCTFail("called")
        return 1
      }
      .then { _ -> Promise<Int> in
        XCTFail("called")
        return Promise(1)
      }
    settle()
    XCTAssertEqual(promise.error as? Failure, .first)
  }

  func test_then_whenItThrows_rejects() {
    let void = Promise(1).then { _ in throw Failure.first }
    let value = Promise(1).then { _ -> Int in throw Failure.first }
    let promise = Promise(1).then { _ -> Promise<Int> in throw Failure.first }
    settle()
    XCTAssertEqual(void.error as? Failure, .first)
    XCTAssertEqual(value.error as? Failure, .first)
    XCTAssertEqual(promise.error as? Failure, .first)
  }

  func test_then_runsOnItsQueue() {
    let queue = MarkedQueue()
    let promise = Promise(1).then(on: queue.queue) { _ in queue.isCurrent }
      .then { $0 && Thread.isMainThread }
    settle()
    XCTAssertEqual(promise.value, true)
  }

  func test_then_takesFunctionReferencesAndTuples() {
    func twice(_ number: Int) -> Int { number * 2 }
    func promised(_ number: Int) -> Promise<String> { Promise("\(number)") }
    let promise = Promise(21).then(twice).then(promised)
    let tuple = all(Promise(1), Promise("a")).then { number, text in "\(number)\(text)" }
    settle()
    XCTAssertEqual(promise.value, "42")
    XCTAssertEqual(tuple.value, "1a")
  }

  func test_then_toVoidPromise_whereTheContextAsksForIt() {
    let log = Recorder<String>()
    let promise: Promise<Void> = Promise(1).then { _ in log.record("run") }
    settle()
    XCTAssertTrue(promise.isFulfilled)
    XCTAssertEqual(log.events, ["run"])
  }

  func test_manyHandlers_runInOrderOfAttachment() {
    let log = Recorder<String>()
    let promise = Promise<Int>()
    for index in 0..<5 { promise.then { _ in log.record("\(index)") } }
    promise.fulfill(1)
    for index in 5..<10 { promise.then { _ in log.record("\(index)") } }
    settle()
    XCTAssertEqual(log.events, (0..<10).map { "\($0)" })
  }

  func test_resultOfThen_mayBeResolvedByHandBefore() {
    let source = Promise<Int>()
    let value = source.then { $0 + 1 }
    let inner = Promise<Int>()
    let adopting = source.then { _ in inner }
    source.fulfill(1)
    value.fulfill(100)
    runMainQueue()
    adopting.fulfill(200)
    inner.fulfill(2)
    settle()
    XCTAssertEqual(value.value, 100)
    XCTAssertEqual(adopting.value, 200)
  }
}
