import Foundation
import XCTest

@testable import Promises

/// Chains and loops that are long enough to show growth.
///
/// The environment can increase the number of rounds, because a debug build is slow.
final class DeepTests: XCTestCase {
  private let count =
    ProcessInfo.processInfo.environment["PROMISES_DEEP"].flatMap { Int($0) } ?? 20_000
  private let queue = DispatchQueue(label: "deep")

  private func settleSlowly() { XCTAssertTrue(waitForPromises(timeout: 300)) }

  func test_longChain_isReleasedUnresolved() {
    for isAdopting in [false, true] {
      var source: Promise<Int>? = Promise<Int>()
      var last = source
      for _ in 0..<count {
        last = isAdopting ? last?.then(on: queue) { Promise($0) } : last?.then(on: queue) { $0 }
      }
      last = nil
      source = nil
      settleSlowly()
    }
  }

  func test_loop_takesConstantMemory() {
    for queue in [queue, .main, .global()] {
      var atStart = 0
      func step(_ round: Int) -> Promise<Int> {
        if round == count / 2 { atStart = memory }
        return Promise<Int>(on: queue) { round }.then(on: queue) { round in
          round == self.count ? Promise(round) : step(round + 1)
        }
      }
      let promise = step(0)
      settleSlowly()
      XCTAssertEqual(promise.value, count)
      print("loop of \(count) rounds: \(memory - atStart) kB more in the second half")
      XCTAssertLessThan(memory - atStart, 8_000)
    }
  }

  func test_loopThroughRecoverAndDo_takesConstantMemory() {
    var atStart = 0
    func step(_ round: Int) -> Promise<Int> {
      if round == count / 2 { atStart = memory }
      if round % 2 == 0 {
        return Promise<Int>(on: queue) { round == self.count ? Promise(round) : step(round + 1) }
      }
      return Promise<Int>(Failure.first).recover(on: queue) { _ in step(round + 1) }
    }
    let promise = step(0)
    settleSlowly()
    XCTAssertEqual(promise.value, count)
    XCTAssertLessThan(memory - atStart, 8_000)
  }
}
