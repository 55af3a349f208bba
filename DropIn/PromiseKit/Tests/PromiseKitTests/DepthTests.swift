import PromiseKit
import XCTest

/// Chains and loops that would overflow the stack or memory if each link nested in the next.
final class DepthTests: PromiseKitTestCase {
  func testLongChainOfGuarantees() {
    let (first, resolve) = Guarantee<Int>.pending()
    var guarantee = first
    for _ in 0..<100_000 { guarantee = guarantee.map(on: nil) { $0 + 1 } }
    resolve(0)
    XCTAssertEqual(guarantee.value, 100_000)
    XCTAssertEqual(log.events, [])
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

  func testRecursiveLoopOfGuarantees() throws {
    let queue = DispatchQueue(label: "loop")
    func step(_ count: Int) -> Guarantee<Int> {
      Guarantee.value(count).then(on: queue) { count in
        count == 100_000 ? .value(count) : step(count + 1)
      }
    }
    XCTAssertEqual(try value(of: step(0)), 100_000)
    XCTAssertEqual(log.events, [])
  }

  // A thread with a stack of 512 KiB, like Dispatch's worker threads.
  private func onSmallStack(_ body: @escaping () -> Void) {
    let done = expectation(description: "done")
    let thread = Thread {
      body()
      done.fulfill()
    }
    thread.stackSize = 512 << 10
    thread.start()
    wait(for: [done], timeout: 60)
  }

  func testRecursiveLoopsInPlace() {
    typealias Next = (Int) -> Guarantee<Int>
    let links: [(Int, @escaping Next) -> Guarantee<Int>] = [
      { count, next in Guarantee.value(count).then(on: nil, next) },
      { count, next in
        Promise<Int>(error: TestError.dummy).recover(on: nil) { _ -> Guarantee<Int> in next(count) }
      },
    ]
    let log = log
    for link in links {
      onSmallStack {
        func step(_ count: Int) -> Guarantee<Int> {
          link(count) { $0 == 50_000 ? .value($0) : step($0 + 1) }
        }
        XCTAssertEqual(step(0).value, 50_000)
        XCTAssertEqual(log.events, [])
      }
    }
  }

  func testDroppedRecursionLogsEachGuarantee() {
    do {
      func step(_ count: Int) -> Guarantee<Int> {
        Guarantee.value(count).then(on: nil) { count in
          count == 100 ? Guarantee<Int>.pending().guarantee : step(count + 1)
        }
      }
      _ = step(0)
    }
    XCTAssertEqual(log.events, Array(repeating: "pendingGuaranteeDeallocated", count: 102))
  }

  func testDroppedNestOfPipes() {
    PromiseKit.conf.logHandler = { _ in }
    onSmallStack {
      var outer = Promise<Int>.pending()
      for _ in 0..<20_000 {
        let inner = Promise<Int>.pending()
        outer.promise.pipe(to: inner.resolver.resolve)
        // Only the handler of the next promise retains this one.
        let next = Promise<Int>.pending()
        next.promise.pipe(to: outer.resolver.resolve)
        outer = next
      }
    }
  }

  func testDroppedNestOfGuarantees() {
    PromiseKit.conf.logHandler = { _ in }
    onSmallStack {
      var (guarantee, resolve) = Guarantee<Int>.pending()
      for _ in 0..<20_000 {
        let next = Guarantee<Int>.pending()
        next.guarantee.done(on: nil, resolve)
        (guarantee, resolve) = next
      }
      XCTAssertTrue(guarantee.isPending)
    }
  }
}
