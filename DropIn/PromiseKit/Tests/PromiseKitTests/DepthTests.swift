import PromiseKit
import XCTest

/// Chains and loops that would overflow the stack, or memory, if each link nested in the next.
final class DepthTests: PromiseKitTestCase {
  func testLongChainInPlace() {
    let (first, seal) = Promise<Int>.pending()
    var promise = first
    for _ in 0..<100_000 { promise = promise.map(on: nil) { $0 + 1 } }
    seal.fulfill(0)
    XCTAssertEqual(promise.value, 100_000)
  }

  func testLongChainOfGuarantees() {
    let (first, resolve) = Guarantee<Int>.pending()
    var guarantee = first
    for _ in 0..<100_000 { guarantee = guarantee.map(on: nil) { $0 + 1 } }
    resolve(0)
    XCTAssertEqual(guarantee.value, 100_000)
    XCTAssertEqual(log.values, [])
  }

  func testLongRejectedChain() {
    let (first, seal) = Promise<Int>.pending()
    var promise = first
    for _ in 0..<100_000 { promise = promise.map { $0 + 1 } }
    seal.reject(TestError.dummy)
    XCTAssertTrue(promise.isRejected)
  }

  func testDroppedLongChain() {
    PromiseKit.conf.logHandler = { _ in }
    do {
      let (first, _) = Guarantee<Int>.pending()
      var guarantee = first
      for _ in 0..<100_000 { guarantee = guarantee.map(on: nil) { $0 + 1 } }
    }
    do {
      let (first, _) = Promise<Int>.pending()
      var promise = first
      for _ in 0..<100_000 { promise = promise.map(on: nil) { $0 + 1 } }
    }
  }

  func testRecursiveLoop() throws {
    let queue = DispatchQueue(label: "loop")
    func step(_ count: Int) -> Promise<Int> {
      Promise.value(count).then(on: queue) { count in
        count == 100_000 ? Promise.value(count) : step(count + 1)
      }
    }
    XCTAssertEqual(try value(of: step(0)), 100_000)
  }

  func testRecursiveLoopOfGuarantees() throws {
    let queue = DispatchQueue(label: "loop")
    func step(_ count: Int) -> Guarantee<Int> {
      Guarantee.value(count).then(on: queue) { count in
        count == 100_000 ? .value(count) : step(count + 1)
      }
    }
    XCTAssertEqual(try value(of: step(0)), 100_000)
    XCTAssertEqual(log.values, [])
  }
}
