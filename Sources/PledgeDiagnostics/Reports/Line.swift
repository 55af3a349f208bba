import Pledge

extension Trace {
  /// A line of a report: a promise, or a task or thread that waits for one.
  public struct Line: Sendable {
    /// The promise's number in the trace.
    public let number: Int
    /// The promise, or the observer of a task or thread.
    package let promise: PromiseDiagnostics.PromiseID
    /// The operation that created it, such as `map` or `all`.
    public let operation: String
    /// Where it was created.
    public let location: Trace.SourceLocation?
    /// In a ``PendingTree``, the number of promises above it.
    public let depth: Int
    /// The text of the line, without its indentation.
    public let description: String
  }
}

extension Snapshot {
  /// Returns the line for a record: its title and `words`.
  func line(_ record: Record, _ words: String, depth: Int = 0) -> Trace.Line {
    Trace.Line(
      number: record.number, promise: record.id, operation: operation(of: record),
      location: location(of: record), depth: depth, description: title(of: record) + words)
  }
}
