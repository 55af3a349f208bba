import Foundation
@_exported import PledgeTesting
import PromiseKit
import XCTest

enum TestError: Error, Equatable {
  case dummy
  case other
}

/// A test that can change `conf`, which is restored afterward, and that records log events.
class PromiseKitTestCase: XCTestCase {
  private var saved = PromiseKit.conf
  let log = Recorder<String>()

  override func setUp() {
    super.setUp()
    saved = PromiseKit.conf
    let log = log
    PromiseKit.conf.logHandler = { log.record("\($0)") }
  }

  override func tearDown() {
    PromiseKit.conf = saved
    super.tearDown()
  }

  /// Runs the main run loop until `promise` is resolved.
  @discardableResult
  func resolution<U: Thenable>(of promise: U) -> PromiseKit.Result<U.T>? {
    let done = expectation(description: "resolved")
    promise.pipe { _ in done.fulfill() }
    wait(for: [done], timeout: 120)
    return promise.result
  }

  func value<U: Thenable>(of promise: U) throws -> U.T {
    switch resolution(of: promise) {
    case .fulfilled(let value): return value
    case .rejected(let error): throw error
    case nil: throw TestError.other
    }
  }

  func error<U: Thenable>(of promise: U) -> Error? {
    if case .rejected(let error) = resolution(of: promise) { return error }
    return nil
  }
}

/// Fails unless `error` is the same case as `expected`, which its description tells.
func assertError(
  _ error: Error?, _ expected: PMKError, file: StaticString = #filePath, line: UInt = #line
) {
  let description = (error as? PMKError)?.debugDescription
  XCTAssertEqual(description, expected.debugDescription, file: file, line: line)
}

/// Returns what `body` writes to a descriptor.
func output(of descriptor: Int32, _ body: () -> Void) throws -> String? {
  let pipe = Pipe()
  fflush(stdout)
  let saved = dup(descriptor)
  dup2(pipe.fileHandleForWriting.fileDescriptor, descriptor)
  body()
  fflush(stdout)
  dup2(saved, descriptor)
  close(saved)
  try pipe.fileHandleForWriting.close()
  return String(data: pipe.fileHandleForReading.readDataToEndOfFile(), encoding: .utf8)
}

/// A custom thenable.
final class Foreign<T>: Thenable, CatchMixin {
  private var handlers: [(PromiseKit.Result<T>) -> Void] = []
  private(set) var result: PromiseKit.Result<T>?

  func resolve(_ result: PromiseKit.Result<T>) {
    self.result = result
    for handler in handlers { handler(result) }
    handlers = []
  }

  func pipe(to: @escaping (PromiseKit.Result<T>) -> Void) {
    if let result { to(result) } else { handlers.append(to) }
  }
}
