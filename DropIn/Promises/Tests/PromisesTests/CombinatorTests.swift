import Foundation
import XCTest

@testable import Promises

final class CombinatorTests: XCTestCase {
  private func later<Value>(_ interval: TimeInterval, _ value: Value) -> Promise<Value> {
    Promise<Value> { fulfill, _ in
      DispatchQueue.main.asyncAfter(deadline: .now() + interval) { fulfill(value) }
    }
  }

  private func later<Value>(_ interval: TimeInterval, error: Failure) -> Promise<Value> {
    Promise<Value> { _, reject in
      DispatchQueue.main.asyncAfter(deadline: .now() + interval) { reject(error) }
    }
  }

  func test_all_givesTheValuesInOrderOfThePromises() {
    let array = all([later(0.03, 1), later(0.02, 2), later(0.01, 3)])
    let variadic: Promise<[Int]> = all(Promise(1), Promise(2), Promise(3))
    let many = all(Promise(1), Promise(2), Promise(3), Promise(4), Promise(5))
    let set = all([1: Promise(1)].values)
    let pair = all(Promise(1), later(0.01, "b"))
    let triple = all(Promise(1), Promise("b"), later(0.01, 2.5))
    let quadruple = all(on: .global(), Promise(1), Promise("b"), Promise(2.5), Promise(true))
    settle()
    XCTAssertEqual(array.value, [1, 2, 3])
    XCTAssertEqual(variadic.value, [1, 2, 3])
    XCTAssertEqual(many.value, [1, 2, 3, 4, 5])
    XCTAssertEqual(set.value, [1])
    XCTAssertTrue(pair.value.map { $0 == (1, "b") } ?? false)
    XCTAssertTrue(triple.value.map { $0 == (1, "b", 2.5) } ?? false)
    XCTAssertTrue(quadruple.value.map { $0 == (1, "b", 2.5, true) } ?? false)
  }

  func test_all_withTheFirstError_rejectsWithoutWaiting() {
    let never = Promise<Int>()
    let (slow, quick) = (Promise<Int>(), Promise<Int>())
    let array = all([never, slow, quick])
    let pair = all(never, later(0.01, error: .first) as Promise<String>)
    quick.reject(Failure.second)
    spin(until: !array.isPending)
    slow.reject(Failure.first)
    spin(until: !array.isPending && !pair.isPending)
    XCTAssertEqual(array.error as? Failure, .second)
    XCTAssertEqual(pair.error as? Failure, .first)
    never.fulfill(1)
    settle()
  }

  func test_all_ofNothing_isFulfilledOnReturn() {
    XCTAssertEqual(all([Promise<Int>]()).value, [])
    XCTAssertEqual((all() as Promise<[Int]>).value, [])
  }

  func test_all_withOptionalValues_keepsNil() {
    let promise = all([Promise<Int?>(nil), Promise<Int?>(1)])
    settle()
    XCTAssertEqual(promise.value, [nil, 1])
  }

  func test_all_onConcurrentQueue_withManyPromises() {
    let promises = (0..<1000).map { index in Promise<Int>(on: .global()) { index } }
    let promise = all(on: .global(), promises)
    settle()
    XCTAssertEqual(promise.value, Array(0..<1000))
  }

  func test_any_givesEveryValueAndError() {
    let array = any([later(0.02, 1), later(0.01, error: .first), Promise(3)])
    let variadic: Promise<[Maybe<Int>]> = any(Promise(1), Promise(2))
    let pair = any(later(0.01, error: .first) as Promise<Int>, Promise("b"))
    let triple = Promises.any(Promise(1), Promise("b"), Promise<Bool>(Failure.second))
    let destructured = any(Promise(1), Promise("b")).then { number, text in
      "\(number.value as Any) \(text.value as Any)"
    }
    settle()
    XCTAssertEqual(array.value, [.value(1), .error(Failure.first), .value(3)])
    XCTAssertEqual(variadic.value, [.value(1), .value(2)])
    XCTAssertEqual(pair.value?.0.error as? Failure, .first)
    XCTAssertEqual(pair.value?.1.value, "b")
    XCTAssertEqual(triple.value?.0, .value(1))
    XCTAssertEqual(triple.value?.1, .value("b"))
    XCTAssertEqual(triple.value?.2.error as? Failure, .second)
    XCTAssertEqual(destructured.value, "Optional(1) Optional(\"b\")")
  }

  func test_any_whenAllFail_rejectsWithTheLastErrorToCome() {
    let (slow, quick, text) = (Promise<Int>(), Promise<Int>(), Promise<String>())
    let array = any([slow, quick])
    let pair = any(quick, text)
    quick.reject(Failure.second)
    // The main queue is serial: `any` has observed the rejection when these two hops have run.
    var isObserved = false
    DispatchQueue.main.async { DispatchQueue.main.async { isObserved = true } }
    spin(until: isObserved)
    slow.reject(Failure.first)
    text.reject(Failure.first)
    settle()
    XCTAssertEqual(array.error as? Failure, .first)
    XCTAssertEqual(pair.error as? Failure, .first)
  }

  func test_any_waitsForAll() {
    let last = Promise<Int>()
    let promise = any([Promise(1), last])
    runMainQueue()
    XCTAssertTrue(promise.isPending)
    last.reject(Failure.first)
    settle()
    XCTAssertEqual(promise.value, [.value(1), .error(Failure.first)])
  }

  func test_any_ofNothing_isFulfilledLater() {
    let promise = any([Promise<Int>]())
    XCTAssertTrue(promise.isPending)
    settle()
    XCTAssertEqual(promise.value, [])
  }

  func test_race_isResolvedAsTheFirst() {
    let never = Promise<Int>()
    let value = race([never, later(0.01, 2)])
    let error = race(never, later(0.01, error: .first))
    let resolved = race(Promise<Int>(Failure.second), Promise(1))
    let queue = MarkedQueue()
    let other = race(on: queue.queue, Promise(1), Promise(2))
    spin(until: !value.isPending && !error.isPending)
    never.fulfill(1)
    settle()
    XCTAssertEqual(value.value, 2)
    XCTAssertEqual(error.error as? Failure, .first)
    XCTAssertEqual(resolved.error as? Failure, .second)
    XCTAssertEqual(other.value, 1)
  }
}
