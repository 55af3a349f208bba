import PromiseKit
import XCTest

/// Handlers in place, and all code that they call, see their promise as resolved.
final class InPlaceTests: PromiseKitTestCase {
  func testHandlersOfOnePromiseNest() {
    let (promise, seal) = Promise<Int>.pending()
    var seen: [Int?] = []
    promise.done(on: nil) { _ in
      seen.append(promise.map(on: nil) { $0 + 1 }.value)
      seen.append(promise.then(on: nil) { Promise.value($0 + 2) }.value)
      seen.append(when(fulfilled: [promise, promise]).value?.reduce(0, +))
      seen.append(race(promise, promise).value)
    }.cauterize()
    seal.fulfill(1)
    XCTAssertEqual(seen, [2, 3, 2, 1])
  }

  func testRejectionsNest() {
    let (promise, seal) = Promise<Int>.pending()
    var seen: [Bool] = []
    promise.catch(on: nil) { _ in
      seen.append(promise.map(on: nil) { $0 }.isRejected)
      seen.append(promise.recover(on: nil) { _ in Promise.value(2) }.value == 2)
      seen.append(promise.asVoid().isRejected)
    }
    seal.reject(TestError.dummy)
    XCTAssertEqual(seen, [true, true, true])
  }

  func testWithoutDefaultQueues() {
    PromiseKit.conf.Q = (map: nil, return: nil)
    let (promise, seal) = Promise<Int>.pending()
    var order: [String] = []
    promise.done { _ in
      order.append("first")
      promise.done { _ in order.append("inner") }.cauterize()
      order.append("end of first")
    }.catch { _ in }
    promise.done { _ in order.append("second") }.cauterize()
    seal.fulfill(1)
    XCTAssertEqual(order, ["first", "inner", "end of first", "second"])
  }

  /// Calls `body` inside `depth` nested handlers.
  private func nest(_ depth: Int, _ body: @escaping () -> Void) {
    guard depth > 0 else { return body() }
    Promise.value(depth).done(on: nil) { self.nest($0 - 1, body) }.cauterize()
  }

  /// Returns a promise like `promise`, which fails if that takes very long.
  private func limited(_ promise: Promise<Int>) -> Promise<Int> {
    race(promise, after(seconds: 60).map { throw TestError.other })
  }

  func testDeeplyNestedHandlersMayHang() {
    for depth in 20...30 {
      var seen: Int?
      nest(depth) {
        let promise = Promise.value(1).map(on: .main) { $0 + 1 }.map(on: nil) { $0 + 1 }
        seen = try? hang(self.limited(promise))
      }
      XCTAssertEqual(seen, 3, "\(depth)")
    }
  }

  func testCycleIsRejected() {
    PromiseKit.conf.Q = (map: nil, return: nil)
    let (one, seal) = Promise<Int>.pending()
    var (first, second): (Promise<Int>?, Promise<Int>?)
    first = one.then { _ in second ?? one }
    second = one.then { _ in first ?? one }
    seal.fulfill(1)
    for promise in [first, second] { assertError(promise?.error, .returnedSelf) }
    first?.cauterize()
    second?.cauterize()
    (first, second) = (nil, nil)
  }

  func testThenableThatCallsBackTwice() {
    final class Repeating: Thenable {
      func pipe(to: @escaping (PromiseKit.Result<Int>) -> Void) {
        to(.fulfilled(1))
        to(.fulfilled(2))
      }
      var result: PromiseKit.Result<Int>? { .fulfilled(1) }
    }
    var seen: [Int] = []
    Repeating().done(on: nil) { seen.append($0) }.cauterize()
    XCTAssertEqual(seen, [1])
  }
}
