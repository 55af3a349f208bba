import Foundation
import XCTest

@testable import Promises

/// The choice of overloads, shown by the type of the result; most need not run.
final class OverloadTests: XCTestCase {
  func test_overloads_areSelectedByTheTypesOfClosures() {
    let promise = Promise(1)
    XCTAssertTrue(type(of: promise.then { number in "\(number)" }) == Promise<String>.self)
    XCTAssertTrue(type(of: promise.then { number in Promise("\(number)") }) == Promise<String>.self)
    XCTAssertTrue(type(of: promise.then { _ in }) == Promise<Int>.self)
    XCTAssertTrue(type(of: promise.then { _ in throw Failure.first }) == Promise<Int>.self)
    let several = promise.then { number -> String in
      let text = "\(number)"
      return text
    }
    XCTAssertTrue(type(of: several) == Promise<String>.self)
    let severalPromised = promise.then { number -> Promise<String> in
      let text = "\(number)"
      return Promise(text)
    }
    XCTAssertTrue(type(of: severalPromised) == Promise<String>.self)
    let inferred = promise.then { number in
      let text = "\(number)"
      return text
    }
    XCTAssertTrue(type(of: inferred) == Promise<String>.self)

    XCTAssertTrue(type(of: promise.recover { _ in 1 }) == Promise<Int>.self)
    XCTAssertTrue(type(of: promise.recover { _ in Promise(1) }) == Promise<Int>.self)

    let p = promise
    XCTAssertTrue(type(of: all(p, p)) == Promise<(Int, Int)>.self)
    XCTAssertTrue(type(of: all(p, p, p)) == Promise<(Int, Int, Int)>.self)
    XCTAssertTrue(type(of: all(p, p, p, p)) == Promise<(Int, Int, Int, Int)>.self)
    XCTAssertTrue(type(of: all(p, p, p, p, p)) == Promise<[Int]>.self)
    let _: Promise<[Int]> = all(p, p)
    XCTAssertTrue(type(of: any(p, p)) == Promise<(Maybe<Int>, Maybe<Int>)>.self)
    XCTAssertTrue(type(of: any(p, p, p, p)) == Promise<[Maybe<Int>]>.self)
    let _: Promise<[Maybe<Int>]> = any(p, p)

    XCTAssertTrue(Promise<Int>(Failure.first).isRejected)
    let wrapped = wrap { (handler: @escaping (Data?, Error?) -> Void) in handler(nil, nil) }
    XCTAssertTrue(type(of: wrapped) == Promise<Data?>.self)
    let plain = wrap { (handler: @escaping (Bool, Error?) -> Void) in handler(true, nil) }
    XCTAssertTrue(type(of: plain) == Promise<Bool>.self)
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
