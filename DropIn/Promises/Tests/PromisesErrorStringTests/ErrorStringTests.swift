import XCTest

@testable import Promises

// In a separate target, because this conformance makes `Promise<String>("a")` ambiguous everywhere.
extension String: @retroactive Error {}

/// The choice of the initializer if a value could also be an error.
final class ErrorStringTests: XCTestCase {
  func test_withoutAnnotation_aStringIsAValue() {
    let empty = Promise("")
    XCTAssertEqual(empty.value, "")
    let text = "text"
    let promise = Promise(text)
    XCTAssertEqual(promise.value, text)
    XCTAssertFalse(promise.isRejected)
  }

  func test_inAChain_aStringIsAValue() {
    let promise = Promise(1).then { _ in Promise("") }.then { _ in Promise("text") }
    XCTAssertTrue(waitForPromises(timeout: 10))
    XCTAssertEqual(promise.value, "text")
  }

  func test_amongSeveral_aStringIsAValue() {
    let both = all(Promise(42), Promise(""))
    XCTAssertTrue(waitForPromises(timeout: 10))
    XCTAssertTrue(both.isFulfilled)
    XCTAssertEqual(both.value?.1, "")
  }

  func test_ofAnotherType_aStringIsAnError() {
    XCTAssertEqual(Promise<Int>("failed").error as? String, "failed")
    let promise = Promise(1).then { _ in Promise<Int>("failed") }
    XCTAssertTrue(waitForPromises(timeout: 10))
    XCTAssertEqual(promise.error as? String, "failed")
  }
}
