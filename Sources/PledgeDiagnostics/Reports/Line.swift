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
    /// The name that `named(_:)` gave it.
    public let name: String?
    /// Where it was created.
    public let location: Trace.SourceLocation?
    /// The name of the executor on which its handler runs.
    public let executor: String?
    /// In a ``PendingTree``, the number of promises above it; in an ``ErrorPath``, the number of
    /// times the path has branched before it.
    public let depth: Int
    /// The number of the promise above it in a ``PendingTree``, for which it waits.
    public let parent: Int?
    /// The text of the line, without its indentation.
    public let description: String

    fileprivate let nanoseconds: Int64

    /// How long ago it was created.
    @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
    public var age: Duration { .nanoseconds(nanoseconds) }
  }
}

extension Snapshot {
  /// Returns the line for a record: `description`, or its title and `words`.
  func line(
    _ record: Record, _ words: String = "", description: String? = nil, depth: Int = 0,
    parent: Int? = nil
  ) -> Trace.Line {
    Trace.Line(
      number: record.number, promise: record.id, operation: operation(of: record),
      name: log.names[record.number], location: location(of: record),
      executor: record.executor?.name, depth: depth, parent: parent,
      description: description ?? title(of: record) + words, nanoseconds: now - record.made.time)
  }
}

extension [Trace.Line] {
  /// Returns the lines, each indented by its depth.
  ///
  /// A chain can be longer than a line is wide.
  func indented(below mark: String = "") -> [String] {
    map { line in
      String(repeating: "  ", count: Swift.min(line.depth, 40)) + (line.depth == 0 ? "" : mark)
        + line.description
    }
  }
}
