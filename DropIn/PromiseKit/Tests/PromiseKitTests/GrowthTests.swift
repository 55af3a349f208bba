import Foundation
import PromiseKit
import XCTest

/// Promises that are combined with a long-lived promise, or dropped, leave no memory behind.
final class GrowthTests: PromiseKitTestCase {
  /// The memory in use, in kilobytes.
  private var memory: Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }

  /// Fails if more rounds use more memory, even 100 bytes each.
  private func assertConstantMemory(
    _ round: () -> Void, file: StaticString = #filePath, line: UInt = #line
  ) {
    PromiseKit.conf.logHandler = { _ in }
    for _ in 0..<5_000 { round() }
    let start = memory
    for _ in 0..<10_000 { round() }
    XCTAssertLessThan(memory - start, 1_000, file: file, line: line)
  }

  func testIteratorWithAPromiseThatLivesOn() {
    let (promise, seal) = Promise<Int>.pending()
    assertConstantMemory {
      let promises = [promise, Promise<Int>(error: TestError.dummy)]
      _ = when(fulfilled: promises.makeIterator(), concurrently: 2)
    }
    seal.fulfill(1)
  }

  func testIteratorWithADroppedPromise() {
    assertConstantMemory {
      let promises = [Promise<Int>.pending().promise, Promise.value(1)]
      _ = when(fulfilled: promises.makeIterator(), concurrently: 2)
    }
  }

  func testCancelledConversionsToPledge() {
    let (promise, seal) = Promise<Int>.pending()
    let (guarantee, resolve) = Guarantee<Int>.pending()
    assertConstantMemory {
      promise.pledge.cancel()
      guarantee.pledge.promise.cancel()
    }
    seal.fulfill(1)
    resolve(1)
  }
}
