import Pledge

/// A counter of calls from any thread: a recorder of events without content.
public typealias CallCounter = Recorder<Void>

extension Recorder where Event == Void {
  /// Counts one call.
  ///
  /// - Returns: The number of calls so far, including this one.
  @discardableResult
  public func call() -> Int { append(()) }

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
      "Expected \(counted(expected, "call")), counted \(found)", fileID, line)
  }
}
