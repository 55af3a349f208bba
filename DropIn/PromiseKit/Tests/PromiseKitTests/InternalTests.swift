import XCTest

@testable import PromiseKit

/// The internal names that tests of the original use with `@testable`.
final class InternalTests: PromiseKitTestCase {
  func testPendingInitializers() {
    let promise = Promise<Int>(.pending)
    promise.box.seal(.fulfilled(1))
    XCTAssertEqual(promise.value, 1)
    let guarantee = Guarantee<Int>(.pending)
    guarantee.box.seal(2)
    XCTAssertEqual(guarantee.value, 2)
  }

  func testResolverOfABox() {
    let promise = Promise<Int>(.pending)
    let resolver = Resolver(promise.box)
    resolver.box.seal(.fulfilled(1))
    XCTAssertEqual(promise.value, 1)
    do { _ = Resolver(Promise<Int>(.pending).box) }
    XCTAssertEqual(log.events, ["pendingPromiseDeallocated"])
  }

  func testGuaranteePipeWithoutResult() {
    var seen: Int?
    Guarantee.value(1).pipe { (value: Int) in seen = value }
    Guarantee.value(1).pipe(to: { (value: Int) in seen = value })
    XCTAssertEqual(seen, 1)
  }

  func testFinalizerPending() {
    let finalizer = Promise.value(1).catch(on: nil) { _ in }
    XCTAssertTrue(finalizer.pending.guarantee.isFulfilled)
    finalizer.pending.resolve(())
  }

  func testOptionalQueue() {
    var ran = false
    let none: DispatchQueue? = nil
    none.async(flags: nil) { ran = true }
    XCTAssertTrue(ran)
    let done = expectation(description: "")
    done.expectedFulfillmentCount = 2
    Optional.some(DispatchQueue.main).async(flags: nil) { done.fulfill() }
    Optional.some(DispatchQueue.main).async(flags: .barrier) { done.fulfill() }
    wait(for: [done], timeout: 60)
    XCTAssertTrue(Thread.isMainThread)
  }
}
