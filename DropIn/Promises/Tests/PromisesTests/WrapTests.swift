import Foundation
import XCTest

@testable import Promises

final class WrapTests: XCTestCase {
  private let error = NSError(domain: "test", code: 7)

  func test_wrap_withoutArguments_givesNil() {
    let log = Recorder<String>()
    let promise = wrap { (handler: @escaping () -> Void) in
      DispatchQueue.global().async { handler() }
    }
    promise.then { log.record("\($0 is NSNull)") }
    settle()
    XCTAssertTrue(promise.isFulfilled)
    XCTAssertNil(promise.value as Any?)
    XCTAssertEqual(log.events, ["true"])
  }

  func test_wrap_withValue_givesIt() {
    let value = wrap { (handler: @escaping (Int) -> Void) in handler(42) }
    let optional = wrap { (handler: @escaping (Int?) -> Void) in handler(42) }
    let none = wrap { (handler: @escaping (Int?) -> Void) in handler(nil) }
    settle()
    XCTAssertEqual(value.value, 42)
    XCTAssertEqual(optional.value, 42)
    XCTAssertTrue(none.isFulfilled)
    XCTAssertNil(none.value as Any?)
  }

  func test_wrap_withOnlyAnError() {
    let failed = wrap { (handler: @escaping (Error?) -> Void) in handler(self.error) }
    let swift = wrap { (handler: @escaping (Error?) -> Void) in handler(Failure.first) }
    let fine = wrap { (handler: @escaping (Error?) -> Void) in handler(nil) }
    settle()
    XCTAssertEqual((failed.error as NSError?)?.code, 7)
    XCTAssertEqual(swift.error as? Failure, .first)
    XCTAssertTrue(fine.isFulfilled)
  }

  func test_wrap_withValueAndError() {
    let value = wrap { (handler: @escaping (Int, Error?) -> Void) in handler(42, nil) }
    let failed = wrap { (handler: @escaping (Int, Error?) -> Void) in handler(42, self.error) }
    let optional = wrap { (handler: @escaping (Int?, Error?) -> Void) in handler(42, nil) }
    let none = wrap { (handler: @escaping (Int?, Error?) -> Void) in handler(nil, nil) }
    typealias Optional = (Int?, Error?) -> Void
    let noneFailed = wrap { (handler: @escaping Optional) in handler(nil, self.error) }
    settle()
    XCTAssertEqual(value.value, 42)
    XCTAssertEqual((failed.error as NSError?)?.code, 7)
    XCTAssertEqual(optional.value, 42)
    XCTAssertTrue(none.isFulfilled)
    XCTAssertTrue(noneFailed.isRejected)
    // The types are those of the handlers.
    let _: Promise<Int> = value
    let _: Promise<Int?> = optional
  }

  func test_wrap_withErrorAndValue() {
    let value = wrap { (handler: @escaping (Error?, Int) -> Void) in handler(nil, 42) }
    let failed = wrap { (handler: @escaping (Error?, Int) -> Void) in handler(self.error, 42) }
    let optional = wrap { (handler: @escaping (Error?, Int?) -> Void) in handler(nil, 42) }
    let none = wrap { (handler: @escaping (Error?, Int?) -> Void) in handler(nil, nil) }
    settle()
    XCTAssertEqual(value.value, 42)
    XCTAssertTrue(failed.isRejected)
    XCTAssertEqual(optional.value, 42)
    XCTAssertTrue(none.isFulfilled)
    let _: Promise<Int?> = optional
  }

  func test_wrap_withTwoValuesAndError() {
    typealias Handler = (Int?, String?, Error?) -> Void
    let value = wrap { (handler: @escaping Handler) in handler(42, nil, nil) }
    let failed = wrap { (handler: @escaping Handler) in handler(42, "a", self.error) }
    settle()
    XCTAssertEqual(value.value?.0, 42)
    XCTAssertNil(value.value?.1)
    XCTAssertTrue(failed.isRejected)
    let _: Promise<(Int?, String?)> = value
  }

  func test_wrap_runsOnItsQueueAndMayThrow() {
    let queue = MarkedQueue()
    let promise = wrap(on: queue.queue) { (handler: @escaping (Bool) -> Void) in
      handler(queue.isCurrent)
    }
    let failed = wrap { (_: @escaping (Int) -> Void) in throw Failure.first }
    settle()
    XCTAssertEqual(promise.value, true)
    XCTAssertEqual(failed.error as? Failure, .first)
  }

  func test_wrap_takesAFunctionWithACompletionHandler() {
    func fetch(_ number: Int, completion: @escaping (String?, Error?) -> Void) {
      DispatchQueue.global().async { completion("\(number)", nil) }
    }
    let promise = wrap { fetch(7, completion: $0) }
    settle()
    XCTAssertEqual(promise.value, "7")
  }

  func test_awaitPromise_blocksUntilItIsResolved() throws {
    let value = Promise<Int>(on: .global()) {
      try awaitPromise(Promise<Int>(on: .global()) { 6 }) * 7
    }
    XCTAssertEqual(try awaitPromise(value), 42)
    XCTAssertThrowsError(try awaitPromise(Promise<Int>(Failure.first))) {
      XCTAssertEqual($0 as? Failure, .first)
    }
    XCTAssertNil(try awaitPromise(Promise<Int?>(nil)))
    settle()
  }
}
