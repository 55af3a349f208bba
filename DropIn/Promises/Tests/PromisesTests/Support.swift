import Foundation
@_exported import PledgeTesting
import XCTest

@testable import Promises

// These tests use XCTest instead of Swift Testing: the module has a default queue and a group for
// the whole process, and handlers run on the main queue by default. Therefore, tests run one after
// the other on the main thread, whose run loop `waitForPromises` runs.

/// Waits until all promises are resolved.
func settle(file: StaticString = #filePath, line: UInt = #line) {
  XCTAssert(waitForPromises(timeout: 60), "promises are still pending", file: file, line: line)
}

/// Runs the main run loop until `condition` returns true, for at most a minute.
func spin(
  until condition: @autoclosure () -> Bool, file: StaticString = #filePath, line: UInt = #line
) {
  let end = Date(timeIntervalSinceNow: 60)
  while !condition(), Date() < end {
    RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.005))
  }
  XCTAssert(condition(), "the condition is still false after a minute", file: file, line: line)
}

/// Runs what is in the main queue, and, ten times over, what that adds to it, to check that something
/// doesn't happen.
func runMainQueue() {
  for _ in 0..<10 {
    let hasRun = Recorder<String>()
    DispatchQueue.main.async { hasRun.record("") }
    spin(until: hasRun.count == 1)
  }
}

/// An error that the tests define.
enum Failure: Error, Equatable {
  case first, second
}

/// The memory in use, in kilobytes.
var memory: Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
  return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
}

/// A serial queue that can check whether code runs on it.
struct MarkedQueue {
  let queue: DispatchQueue
  private let probe: ExecutorProbe

  init(_ label: String = #function) {
    queue = DispatchQueue(label: label)
    probe = ExecutorProbe(queue)
  }

  var isCurrent: Bool { probe.isCurrent }
}
