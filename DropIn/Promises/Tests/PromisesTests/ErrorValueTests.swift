import Foundation
import XCTest

@testable import Promises

extension Array: @retroactive Error where Element == UInt8 {}

/// A class whose values are used as results, and that is also an error.
private final class Problem: Error {}

final class ErrorValueTests: XCTestCase {
  private let error = NSError(domain: "test", code: 7)

  func test_valuesThatAreErrors_reject() {
    XCTAssertTrue(Promise<NSError>(fulfilledWith: error).isRejected)
    XCTAssertTrue(Promise<Any>(fulfilledWith: error).isRejected)
    XCTAssertTrue(Promise<AnyObject>(fulfilledWith: error).isRejected)
    XCTAssertTrue(Promise<NSObject>(fulfilledWith: error).isRejected)
    XCTAssertTrue(Promise<Error>(fulfilledWith: error).isRejected)
    XCTAssertTrue(Promise<Error?>(fulfilledWith: error).isRejected)
    XCTAssertTrue(Promise<Failure>(fulfilledWith: .first).isRejected)
    XCTAssertTrue(Promise<Failure?>(fulfilledWith: .first).isRejected)
    XCTAssertTrue(Promise<Error>(fulfilledWith: Failure.first).isRejected)
    XCTAssertTrue(Promise<Error?>(fulfilledWith: Failure.first).isRejected)
    XCTAssertTrue(Promise<Any?>(fulfilledWith: Failure.first).isRejected)
    XCTAssertTrue(Promise<AnyObject>(fulfilledWith: Failure.first as AnyObject).isRejected)
    XCTAssertTrue(Promise<URLError>(fulfilledWith: URLError(.timedOut)).isRejected)
    XCTAssertTrue(Promise<CocoaError>(fulfilledWith: CocoaError(.fileNoSuchFile)).isRejected)
  }

  func test_valuesThatAreNotErrorsAsObjects_fulfill() {
    XCTAssertTrue(Promise<[UInt8]>(fulfilledWith: [1, 2]).isFulfilled)
    XCTAssertTrue(Promise<Any>(fulfilledWith: [1, 2] as [UInt8]).isFulfilled)
    XCTAssertTrue(Promise<Problem>(fulfilledWith: Problem()).isFulfilled)
    XCTAssertTrue(Promise<Error?>(fulfilledWith: nil).isFulfilled)
    XCTAssertTrue(Promise<(Int, Error)>(fulfilledWith: (1, error)).isFulfilled)
    XCTAssertTrue(Promise<[NSError]>(fulfilledWith: [error]).isFulfilled)
    XCTAssertTrue(Promise<Any>(fulfilledWith: NSNull()).isFulfilled)
  }

  func test_everyWayToFulfill_checksForErrors() {
    let constant = Promise<Any>(error as Any)
    let async = Promise<Any> { fulfill, _ in fulfill(self.error) }
    let work = Promise<Any> { () -> NSError in self.error }
    let mismatched = Promise<Int> { () -> NSError in self.error }
    let then = Promise(1).then { _ -> NSError in self.error }
    let thenSwift = Promise(1).then { _ -> Failure in .first }
    let recover = Promise<Any>(Failure.second).recover { _ -> Any in self.error }
    settle()
    for promise in [constant, async, work, recover] {
      XCTAssertEqual((promise.error as NSError?)?.code, 7)
    }
    XCTAssertEqual((mismatched.error as NSError?)?.code, 7)
    XCTAssertEqual((then.error as NSError?)?.code, 7)
    XCTAssertEqual(thenSwift.error as? Failure, .first)
  }

  func test_nilAsAny_comesAsNSNull() {
    let promise = Promise<Any?>(nil)
    XCTAssertNil(promise.value as Any?)
    let log = Recorder<String>()
    let next = promise.then { log.record("\($0 is NSNull)") }.always {}.catch { _ in }
    settle()
    XCTAssertEqual(log.events, ["true"])
    XCTAssertTrue(next.value is NSNull)
    XCTAssertTrue(try awaitPromise(promise) is NSNull)
  }

  func test_nestedOptionals_keepTheirShape() {
    let promise = Promise<Int??>(.some(nil))
    let log = Recorder<String>()
    promise.then { log.record($0 == nil ? "outer" : "inner") }
    settle()
    XCTAssertEqual(log.events, ["inner"])
  }
}

extension Promise {
  fileprivate convenience init(fulfilledWith value: Value) {
    self.init()
    fulfill(value)
  }
}
