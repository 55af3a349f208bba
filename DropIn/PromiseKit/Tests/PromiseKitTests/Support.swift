import Foundation
import PromiseKit
import XCTest

enum TestError: Error, Equatable {
  case dummy
  case other
}

/// The events that handlers record, on any thread.
final class Recorder<Value>: @unchecked Sendable {
  // Guarded by `lock`.
  private var recorded: [Value] = []
  private let lock = NSLock()

  func record(_ value: Value) { lock.withLock { recorded.append(value) } }
  var values: [Value] { lock.withLock { recorded } }
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
  func resolution<U: Thenable>(
    of promise: U, file: StaticString = #filePath, line: UInt = #line
  ) -> PromiseKit.Result<U.T>? {
    let done = expectation(description: "resolved")
    promise.pipe { _ in done.fulfill() }
    wait(for: [done], timeout: 120)
    return promise.result
  }

  func value<U: Thenable>(
    of promise: U, file: StaticString = #filePath, line: UInt = #line
  ) throws -> U.T {
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

func assertCase(
  _ error: Error?, _ matches: (PMKError) -> Bool, file: StaticString = #filePath,
  line: UInt = #line
) {
  guard let error = error as? PMKError, matches(error) else {
    return XCTFail("unexpected: \(String(describing: error))", file: file, line: line)
  }
}

extension PMKError {
  var isBadInput: Bool { if case .badInput = self { true } else { false } }
  var isReturnedSelf: Bool { if case .returnedSelf = self { true } else { false } }
  var isEmptySequence: Bool { if case .emptySequence = self { true } else { false } }
  var isNoWinner: Bool { if case .noWinner = self { true } else { false } }
  var isCallingConvention: Bool {
    if case .invalidCallingConvention = self { true } else { false }
  }
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
