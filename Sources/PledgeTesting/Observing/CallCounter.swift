import Pledge

/// A counter of calls from any thread.
public final class CallCounter: Sendable {
  private let calls = Mutex(0)

  /// Creates a counter at zero.
  public init() {}

  /// Counts one call.
  ///
  /// - Returns: The number of calls so far, including this one.
  @discardableResult
  public func call() -> Int {
    calls.withLock { calls in
      calls += 1
      return calls
    }
  }

  /// The number of calls.
  public var count: Int { calls.withLock { $0 } }

  /// Throws an ``ExpectationError`` unless there was exactly one call.
  public func expectOnce(fileID: StaticString = #fileID, line: UInt = #line) throws {
    try expect(1, fileID: fileID, line: line)
  }

  /// Throws an ``ExpectationError`` unless there was no call.
  public func expectNever(fileID: StaticString = #fileID, line: UInt = #line) throws {
    try expect(0, fileID: fileID, line: line)
  }

  /// Throws an ``ExpectationError`` unless there were exactly `expected` calls.
  public func expect(
    _ expected: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) throws {
    let found = count
    if found == expected { return }
    throw ExpectationError(
      "Expected \(counted(expected, "call")), counted \(found)",
      origin: SourceLocation(fileID: fileID, line: line))
  }
}
