import Foundation
import XCTest

@testable import Promises

/// Counts hops against blocks that hop alongside the promises on the same serial queue.
final class HopTests: XCTestCase {
  /// Returns how many turns of the main queue pass until the promise of `make` is resolved.
  private func hops<Value>(_ make: () -> Promise<Value>) -> Int {
    let promise = make()
    var count = 0
    func tick() {
      guard promise.isPending else { return }
      count += 1
      DispatchQueue.main.async(execute: DispatchWorkItem(block: tick))
    }
    tick()
    settle()
    return count
  }

  func test_everyLink_takesOneHop_forErrorsToo() {
    for make in [{ Promise(1) }, { Promise<Int>(Failure.first) }] {
      XCTAssertEqual(hops { make().then { _ in } }, 1)
      XCTAssertEqual(hops { make().then { $0 } }, 1)
      XCTAssertEqual(hops { make().catch { _ in } }, 1)
      XCTAssertEqual(hops { make().always {} }, 1)
      XCTAssertEqual(hops { make().recover { _ in 1 } }, 1)
      XCTAssertEqual(hops { make().validate { _ in true } }, 1)
      XCTAssertEqual(hops { make().timeout(10) }, 1)
      XCTAssertEqual(hops { make().then { $0 }.then { $0 }.catch { _ in } }, 3)
    }
    XCTAssertEqual(hops { Promise<Int>(Failure.first).then { Promise($0) } }, 1)
    XCTAssertEqual(hops { Promise<Int>(Failure.first).delay(10) }, 1)
  }

  func test_adoption_takesOneHopMore() {
    XCTAssertEqual(hops { Promise(1).then { Promise($0) } }, 2)
    XCTAssertEqual(hops { Promise(1).then { value in Promise<Int> { value } } }, 3)
    XCTAssertEqual(hops { Promise<Int>(Failure.first).recover { _ in Promise(1) } }, 2)
    XCTAssertEqual(hops { Promise<Int> { Promise(1) } }, 2)
    XCTAssertEqual(hops { Promise<Int> { 1 } }, 1)
    XCTAssertEqual(hops { Promise<Int> { fulfill, _ in fulfill(1) } }, 1)
  }

  func test_combinators_takeTheHopsOfTheOriginal() {
    XCTAssertEqual(hops { all([Promise(1), Promise(2)]) }, 2)
    XCTAssertEqual(hops { all(Promise(1), Promise("a")) }, 3)
    XCTAssertEqual(hops { any([Promise(1), Promise(2)]) }, 3)
    XCTAssertEqual(hops { any(Promise(1), Promise("a")) }, 3)
    XCTAssertEqual(hops { race(Promise(1), Promise(2)) }, 2)
    XCTAssertEqual(hops { all([Promise<Int>]()) }, 0)
    XCTAssertEqual(hops { any([Promise<Int>]()) }, 1)
    XCTAssertEqual(hops { wrap { $0() } }, 1)
    XCTAssertEqual(hops { retry { Promise(1) } }, 1)
  }

  func test_handlers_neverRunInsideTheCall() {
    let promise = Promise<Int>()
    var isInside = true
    promise.then { _ in XCTAssertFalse(isInside) }
    promise.fulfill(1)
    promise.then { _ in XCTAssertFalse(isInside) }
    isInside = false
    settle()
  }
}
