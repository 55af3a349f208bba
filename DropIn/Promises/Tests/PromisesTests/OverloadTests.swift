import Foundation
import XCTest

@testable import Promises

/// The choice of overloads, shown by the type of the result; most need not run.
final class OverloadTests: XCTestCase {
  func test_overloads_areSelectedByTheTypesOfClosures() {
    let promise = Promise(1)

    let value = promise.then { number in "\(number)" }
    let _: Promise<String> = value
    let promised = promise.then { number in Promise("\(number)") }
    let _: Promise<String> = promised
    let void = promise.then { _ in }
    let _: Promise<Int> = void
    let throwing = promise.then { _ in throw Failure.first }
    let _: Promise<Int> = throwing
    let several = promise.then { number -> String in
      let text = "\(number)"
      return text
    }
    let _: Promise<String> = several
    let severalPromised = promise.then { number -> Promise<String> in
      let text = "\(number)"
      return Promise(text)
    }
    let _: Promise<String> = severalPromised
    let inferred = promise.then { number in
      let text = "\(number)"
      return text
    }
    let _: Promise<String> = inferred

    let recovered = promise.recover { _ in 1 }
    let _: Promise<Int> = recovered
    let recoveredWithPromise = promise.recover { _ in Promise(1) }
    let _: Promise<Int> = recoveredWithPromise

    let pair = all(promise, promise)
    let _: Promise<(Int, Int)> = pair
    let triple = all(promise, promise, promise)
    let _: Promise<(Int, Int, Int)> = triple
    let quadruple = all(promise, promise, promise, promise)
    let _: Promise<(Int, Int, Int, Int)> = quadruple
    let five = all(promise, promise, promise, promise, promise)
    let _: Promise<[Int]> = five
    let _: Promise<[Int]> = all(promise, promise)
    let anyPair = any(promise, promise)
    let _: Promise<(Maybe<Int>, Maybe<Int>)> = anyPair
    let anyFour = any(promise, promise, promise, promise)
    let _: Promise<[Maybe<Int>]> = anyFour
    let _: Promise<[Maybe<Int>]> = any(promise, promise)

    let error = Promise<Int>(Failure.first)
    XCTAssertTrue(error.isRejected)
    let wrapped = wrap { (handler: @escaping (Data?, Error?) -> Void) in handler(nil, nil) }
    let _: Promise<Data?> = wrapped
    let plain = wrap { (handler: @escaping (Bool, Error?) -> Void) in handler(true, nil) }
    let _: Promise<Bool> = plain
    settle()
  }

  func test_aliases_areThere() {
    let _: Promise<Int>.Async = { fulfill, _ in fulfill(1) }
    let _: Promise<Int>.Do<Int> = { 1 }
    let _: Promise<Int>.Then<String> = { "\($0)" }
    let _: Promise<Int>.Catch = { _ in }
    let _: Promise<Int>.Reducer<Int> = { sum, item in Promise(sum + item) }
    let _: Promises.Promise<Int> = Promise(1)
    let _: Result<Int, Error> = .success(1)
  }

  func test_handlersFromOutside_keepTheirTypes() {
    let work: (Int) throws -> String = { "\($0)" }
    let promised: (Int) throws -> Promise<String> = { Promise("\($0)") }
    let void: (Int) throws -> Void = { _ in }
    let first = Promise(1).then(work)
    let second = Promise(1).then(promised)
    let third = Promise(1).then(void)
    settle()
    XCTAssertEqual(first.value, "1")
    XCTAssertEqual(second.value, "1")
    XCTAssertEqual(third.value, 1)
  }
}
