import PromiseKit
import XCTest

final class ResolverTests: PromiseKitTestCase {
  private func optional(_ value: Int?, _ error: Error?, _ handler: (Int?, Error?) -> Void) {
    handler(value, error)
  }
  private func plain(_ error: Error?, _ handler: (Int, Error?) -> Void) { handler(2, error) }
  private func errorFirst(_ value: Int?, _ handler: (Error?, Int?) -> Void) { handler(nil, value) }
  private func errorOnly(_ error: Error?, _ handler: (Error?) -> Void) { handler(error) }
  private func swiftResult(
    _ result: Swift.Result<Int, TestError>, _ handler: (Swift.Result<Int, TestError>) -> Void
  ) { handler(result) }
  private func valueOnly(_ handler: (Int) -> Void) { handler(5) }

  func testEveryShapeOfCompletionHandler() {
    XCTAssertEqual(Promise<Int> { optional(1, nil, $0.resolve) }.value, 1)
    assertError(Promise<Int> { optional(nil, nil, $0.resolve) }.error, .invalidCallingConvention)
    XCTAssertEqual(
      Promise<Int> { optional(1, TestError.dummy, $0.resolve) }.error as? TestError, .dummy)
    XCTAssertEqual(Promise<Int> { plain(nil, $0.resolve) }.value, 2)
    XCTAssertEqual(Promise<Int> { plain(TestError.dummy, $0.resolve) }.error as? TestError, .dummy)
    XCTAssertEqual(Promise<Int> { errorFirst(3, $0.resolve) }.value, 3)
    assertError(Promise<Int> { errorFirst(nil, $0.resolve) }.error, .invalidCallingConvention)
    XCTAssertTrue(Promise<Void> { errorOnly(nil, $0.resolve) }.isFulfilled)
    XCTAssertTrue(Promise<Void> { errorOnly(TestError.dummy, $0.resolve) }.isRejected)
    XCTAssertEqual(Promise<Int> { swiftResult(.success(4), $0.resolve) }.value, 4)
    XCTAssertEqual(
      Promise<Int> { swiftResult(.failure(.dummy), $0.resolve) }.error as? TestError, .dummy)
    XCTAssertEqual(Promise<Int> { valueOnly($0.fulfill) }.value, 5)
    XCTAssertEqual(Promise<Int> { seal in valueOnly(seal.fulfill) }.value, 5)
    XCTAssertTrue(Promise<Void> { $0.fulfill(()) }.isFulfilled)
    XCTAssertTrue(Promise<Void> { $0.fulfill_() }.isFulfilled)
    XCTAssertEqual(Promise<Int> { $0.resolve(.fulfilled(6)) }.value, 6)
    XCTAssertTrue(Promise<Int> { $0.resolve(.rejected(TestError.dummy)) }.isRejected)
  }

  func testDroppedResolverLogs() {
    let promise = Promise<Int>.pending().promise
    XCTAssertEqual(log.events, ["pendingPromiseDeallocated"])
    XCTAssertTrue(promise.isPending)
    do { let (_, seal) = Promise<Int>.pending(); seal.fulfill(1) }
    do { _ = Promise<Int> { $0.reject(TestError.dummy) } }
    XCTAssertEqual(log.events.count, 1)
    do { _ = Promise<Int> { _ in } }
    XCTAssertEqual(log.events.count, 2)
  }

  func testDerivedPromisesDoNotLogButTap() {
    do {
      let (promise, _) = Promise<Int>.pending()
      _ = promise.map { $0 }.done { _ in }
    }
    XCTAssertEqual(log.events, ["pendingPromiseDeallocated"])
    do {
      let (promise, _) = Promise<Int>.pending()
      _ = promise.tap { _ in }
    }
    XCTAssertEqual(log.events.count, 3)
  }

  func testHandlersOfADroppedResolverAreNeverCalledAndGo() {
    weak var kept: NSObject?
    var promise: Promise<Int>?
    do {
      let object = NSObject()
      kept = object
      let (pending, seal) = Promise<Int>.pending()
      promise = pending
      pending.tap(on: nil) { _ in XCTFail("called with \(object)") }.cauterize()
      XCTAssertNotNil(seal)
    }
    XCTAssertTrue(promise?.isPending ?? false)
    promise = nil
    XCTAssertNil(kept)
  }
}
