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

/// The pending promises, each followed by the promises that wait for it.
///
/// The description of a tree has one line for each node, which says why it is pending.
public struct PendingTree: Sendable, CustomStringConvertible {
  /// The pending promises, and the tasks and threads that wait for one; each is followed by the
  /// nodes that wait for it.
  ///
  /// One that waits for several promises appears below each of them.
  public let nodes: [Trace.Line]
  /// The nodes that wait for no other promise.
  ///
  /// If promises wait for each other in a cycle, one of them is a root, which says so.
  public var roots: [Trace.Line] { nodes.filter { $0.depth == 0 } }
  /// Promises that wait for each other.
  public let cycles: [WaitCycle]
  let notice: String?

  /// The tree as text, one line for each node.
  public var description: String {
    // A chain can be longer than a line is wide.
    let rows = nodes.map { node in
      String(repeating: "  ", count: min(node.depth, 40)) + (node.depth == 0 ? "" : "└ ")
        + node.description
    }
    return
      (["Pending: \(Set(nodes.map(\.number)).count)"] + rows + cycles.map(\.description)
      + [notice].compactMap(\.self)).joined(separator: "\n")
  }
}

extension Trace {
  /// Returns the promises that are pending, and what they wait for.
  ///
  /// - Complexity: O(n log n) for n promises in the record; the first report also looks up source
  ///   locations in the program's debug information.
  public func pendingTree() -> PendingTree { snapshot().pendingTree() }
}

extension Snapshot {
  fileprivate func pendingTree() -> PendingTree {
    let dependencies = Dependencies(self)
    var waiters: [Int: [Edge]] = [:]
    for record in ordered where record.isPending {
      for edge in dependencies[record.number] {
        waiters[edge.target, default: []].append(
          Edge(target: record.number, reason: edge.reason))
      }
    }

    var nodes: [Trace.Line] = []
    var seen: Set<Int> = []
    // A stack in place of recursion, because a chain can be longer than the call stack is deep.
    var rest: [(number: Int, depth: Int, parent: Edge?)] = []
    func expand(from root: Int) {
      rest.append((root, 0, nil))
      while let (number, depth, parent) = rest.popLast() {
        guard let record = records[number] else { continue }
        guard seen.insert(number).inserted else {
          nodes.append(line(record, ": see above", depth: depth))
          continue
        }
        let words = reason(
          of: record, parent ?? dependencies[number].first, isRoot: parent == nil)
        nodes.append(line(record, words, depth: depth))
        for edge in (waiters[number] ?? []).reversed() {
          rest.append((edge.target, depth + 1, Edge(target: number, reason: edge.reason)))
        }
      }
    }
    let pending = ordered.filter { $0.isPending && !$0.isInput }.map(\.number)
    for number in pending where dependencies[number].isEmpty { expand(from: number) }
    // A cycle has no root: begin with one of its promises.
    for number in pending where !seen.contains(number) {
      var (number, path) = (number, Set<Int>())
      while path.insert(number).inserted, let edge = dependencies[number].first {
        number = edge.target
      }
      expand(from: number)
    }
    return PendingTree(nodes: nodes, cycles: waitCycles(dependencies), notice: log.notice)
  }

  /// Returns why a promise is pending, in words: it waits for `edge`, which its parent in the tree
  /// shows unless it's a root.
  func reason(of record: Record, _ edge: Edge?, isRoot: Bool = false) -> String {
    let age = (now - record.made.time).brief
    let executor = record.executor.map { ", on \($0.name.isEmpty ? "a queue" : $0.name)" } ?? ""
    switch record.kind {
    case .wait: return ": blocks \(threadName(of: record)) for \(age)"
    case .observer: return ": a task waits, for \(age)"
    case .unknown: return ": its creation is not in the record"
    case .handler where record.adopted != nil && record.calledClosure:
      let inner = edge.map { "#\($0.target)" } ?? "a promise that has settled or was discarded"
      return ": its handler returned \(inner)"
    case .handler:
      guard let run = record.run, run.isRunning else { break }
      let blocked = edge?.reason == .blocking ? ", blocked by the wait()" : ""
      let time = (now - run.start).brief
      return ": its handler runs on \(threadName(of: record))\(executor) for \(time)\(blocked)"
    case .resolver, .combinator: break
    }
    if let edge {
      let target = isRoot ? " for #\(edge.target), in a cycle" : ""
      return "\(record.kind == .handler ? executor : ""): waits\(target), for \(age)"
    }
    switch record.kind {
    case .handler:
      // A source that was discarded can be pending.
      if let source = record.source, records[source] == nil, log.forgottenPending > 0 {
        return "\(executor): waits for a promise that was discarded, or to start, for \(age)"
      }
      return ": its handler was not started\(executor) for \((now - readyTime(of: record)).brief)"
    case .combinator:
      return ": waits for a timer or for promises that are not in the record, for \(age)"
    case .resolver:
      if let source = record.source {
        return ": waits for what the cancellation of #\(source) has left, for \(age)"
      }
      fallthrough
    default: return ": \((record.outside ?? .operation).words), for \(age)"
    }
  }

  /// Returns the time at which the handler could have started.
  func readyTime(of record: Record) -> Int64 {
    let settled = record.source.flatMap { records[$0]?.settlement?.moment.time }
    return max(record.made.time, settled ?? record.made.time)
  }
}

extension PromiseDiagnostics.Outside {
  fileprivate var words: String {
    switch self {
    case .nothing: "stays pending until it is cancelled"
    case .limiter: "waits for its limiter or for its operation"
    case .policies: "waits for its policies or for its operation"
    case .batch: "waits for its batch to start"
    case .scope: "waits for the work of its scope"
    case .operation: "its resolver or operation has not settled it"
    }
  }
}
