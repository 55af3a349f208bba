import Foundation
import PromisesTestHelpers
import XCTest

@testable import Promises

final class MaybeTests: XCTestCase {
  func test_maybe_holdsAValueOrAnError() {
    XCTAssertEqual(Maybe(42).value, 42)
    XCTAssertNil(Maybe(42).error)
    XCTAssertNil(Maybe<Int>(Failure.first).value)
    XCTAssertEqual(Maybe<Int>(Failure.first).error as? Failure, .first)
  }

  func test_maybe_equality() {
    XCTAssertTrue(Maybe(42) == Maybe(42))
    XCTAssertTrue(Maybe(42) != Maybe(13))
    XCTAssertTrue(Maybe<Int>(Failure.first) == Maybe<Int>(Failure.first))
    XCTAssertTrue(Maybe<Int>(Failure.first) != Maybe<Int>(Failure.second))
    XCTAssertTrue(Maybe<Int>(Failure.first) != Maybe(42))
    XCTAssertTrue([Maybe(42), .error(Failure.first)] == [.value(42), .error(Failure.first)])
    XCTAssertEqual(Maybe<Int?>(nil), Maybe<Int?>(nil))
    let first = NSError(domain: "test", code: 1, userInfo: ["key": 1])
    let second = NSError(domain: "test", code: 1, userInfo: ["key": 2])
    XCTAssertTrue(Maybe<Int>(first) != Maybe<Int>(second))
  }

  func test_maybe_toAndFromObjects() {
    XCTAssertEqual(Maybe(42).asAnyObject() as? Int, 42)
    XCTAssertNil(Maybe<Int?>(nil).asAnyObject())
    let error = NSError(domain: "test", code: 1)
    XCTAssertTrue(Maybe<Int>(error).asAnyObject() === error)
    XCTAssertEqual((Maybe<Int>(Test.Error.code42).asAnyObject() as? NSError)?.code, 42)
    XCTAssertEqual(asMaybe(42 as AnyObject), Maybe<Int>(42))
    XCTAssertEqual(asMaybe(error), Maybe<Int>(error))
    XCTAssertEqual(Promise<Int>.asValue(42 as AnyObject), 42)
    XCTAssertNil(Promise<Int>.asValue("a" as AnyObject))
    XCTAssertNil(Promise<Int>.asValue(nil))
    XCTAssertEqual(Promise<Int?>.asValue(nil), .some(nil))
    XCTAssertNil(Promise<Int?>.asAnyObject(nil))
  }

  func test_promiseError_isAnNSErrorOfItsDomain() {
    XCTAssertEqual(PromiseError.errorDomain, "com.google.FBLPromises.Error")
    XCTAssertEqual(PromiseError.timedOut.errorCode, 1)
    XCTAssertEqual(PromiseError.validationFailure.errorCode, 2)
    XCTAssertTrue(PromiseError.timedOut.errorUserInfo.isEmpty)
    XCTAssertEqual((PromiseError.timedOut as NSError).domain, PromiseError.errorDomain)
    XCTAssertEqual((PromiseError.validationFailure as NSError).code, 2)
    for (code, error) in [(1, PromiseError.timedOut), (2, .validationFailure), (3, nil)] {
      let source = NSError(domain: PromiseError.errorDomain, code: code)
      XCTAssertEqual(PromiseError(source), error)
    }
    XCTAssertNil(PromiseError(NSError(domain: "test", code: 1)))
    XCTAssertEqual(PromiseError(PromiseError.timedOut), .timedOut)
    XCTAssertNotEqual(PromiseError.timedOut.hashValue, PromiseError.validationFailure.hashValue)
  }

  func test_testHelpers() {
    XCTAssertEqual(Test.Error.errorDomain, "com.google.Promises.Test.Error")
    XCTAssertEqual(Test.Error.code13.errorCode, 13)
    XCTAssertTrue(Test.Error.code13.errorUserInfo.isEmpty)
    let error: Error = Test.Error.code42
    XCTAssertEqual(error.domain, "com.google.Promises.Test.Error")
    XCTAssertEqual(error.code, 42)
    XCTAssertTrue(error.userInfo.isEmpty)
    let none: Error? = nil
    XCTAssertTrue(error as Error? == Test.Error.code42 as Error?)
    XCTAssertTrue(error as Error? != Test.Error.code13 as Error?)
    XCTAssertTrue(none == none)
    XCTAssertTrue(none != error)
    XCTAssertTrue(Promise<Int>(Test.Error.code13).error == Test.Error.code13)
    XCTAssertTrue([1, nil] as [Int?] == [1, nil])
    XCTAssertTrue([1, nil] as [Int?] != [1, 2])
    XCTAssertTrue([1] as [Int?] != [1, nil])
    let promise = Promise<Int> { fulfill, _ in
      Test.delay(0.01) {
        XCTAssertTrue(Thread.isMainThread)
        fulfill(1)
      }
    }
    settle()
    XCTAssertEqual(promise.value, 1)
  }
}
