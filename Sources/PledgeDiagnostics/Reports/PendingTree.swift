import Pledge

/// The pending promises, each followed by the promises that wait for it.
///
/// The description of a tree has one line for each node.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public struct PendingTree: Sendable, CustomStringConvertible {
  /// A pending promise, or a task or thread that waits for one.
  public struct Node: Sendable {
    /// Why it is pending.
    public enum State: Sendable, Hashable {
      /// Its resolver hasn't settled it, or its timer hasn't fired.
      case waitsForResolver
      /// It waits for its turn in a limiter, or for its operation to end.
      case limited
      /// It was created before the trace started, or was discarded; nothing more is known.
      case unknown
      /// It waits for the promise above it.
      case waits
      /// Its handler returned the promise above it.
      case adopting
      /// Its handler has been running since that time of the trace.
      case running(since: Duration, thread: String)
      /// Its handler has been ready since that time of the trace, but its executor hasn't started
      /// it.
      case queued(since: Duration)
      /// A task awaits the promise above it.
      case awaited
      /// A thread blocks in `wait()` for the promise above it.
      case blocking(thread: String)
    }

    /// The promise's number in this trace.
    public let number: Int
    /// The promise; nil for a task or a thread.
    package let promise: PromiseDiagnostics.PromiseID?
    /// The operation that created it, such as `map` or `all`.
    public let operation: String
    /// The name that `named(_:)` gave it.
    public let name: String?
    /// Where it was created.
    public let location: Trace.SourceLocation?
    /// The name of the executor on which its handler runs.
    public let executor: String?
    /// How long it has been pending.
    public let age: Duration
    /// Why it is pending.
    public let state: State
    /// The number of promises above it.
    public let depth: Int
    /// The number of the promise above it, for which it waits.
    public let parent: Int?
    /// Whether it appears earlier in the tree with its children, because it waits for several
    /// promises.
    public let isRepeated: Bool

    let title: String
    let words: String
    var line: String { title + words }
  }

  /// The nodes; each is followed by the nodes that wait for it.
  public let nodes: [Node]
  /// The nodes that wait for no other promise.
  public var roots: [Node] { nodes.filter { $0.parent == nil } }
  /// Promises that wait for each other.
  public let cycles: [WaitCycle]
  /// The promises that the trace has discarded.
  public let forgotten: Forgotten

  /// The tree as text, one line for each node.
  public var description: String {
    var lines = ["Pending: \(Set(nodes.map(\.number)).count)"]
    for node in nodes {
      // A chain can be longer than a line is wide.
      let indent = String(repeating: "  ", count: min(node.depth, 40))
      lines.append(indent + (node.depth == 0 ? "" : "└ ") + node.line)
    }
    lines += cycles.map(\.description)
    if let sentence = forgotten.sentence { lines.append(sentence) }
    return lines.joined(separator: "\n")
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Trace {
  /// Returns the promises that are pending, and what they wait for.
  ///
  /// - Complexity: O(n log n) for n promises in the record; the first report also looks up source
  ///   locations in the program's debug information.
  public func pendingTree() -> PendingTree { snapshot().pendingTree() }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Snapshot {
  func pendingTree() -> PendingTree {
    let dependencies = dependencies()
    var waiters: [Int: [Edge]] = [:]
    for (number, edges) in dependencies.sorted(by: { $0.key < $1.key }) {
      for edge in edges {
        waiters[edge.target, default: []].append(Edge(target: number, reason: edge.reason))
      }
    }
    let pending = ordered.filter { $0.isPending && !($0.kind == .observer && $0.result != nil) }
      .map(\.number)
    let cycles = waitCycles(dependencies)

    var nodes: [PendingTree.Node] = []
    var seen: Set<Int> = []
    // A stack in place of recursion, because a chain can be longer than the call stack is deep.
    var rest: [(number: Int, depth: Int, parent: Edge?)] = []
    func expand(from root: Int) {
      rest.append((root, 0, nil))
      while let (number, depth, parent) = rest.popLast() {
        guard let record = records[number] else { continue }
        let isRepeated = !seen.insert(number).inserted
        let waitsFor = parent?.target ?? dependencies[number]?.first?.target
        nodes.append(node(record, depth, parent, isRepeated, waitsFor: waitsFor))
        guard !isRepeated else { continue }
        for edge in (waiters[number] ?? []).reversed() {
          rest.append((edge.target, depth + 1, Edge(target: number, reason: edge.reason)))
        }
      }
    }
    for number in pending where dependencies[number] == nil { expand(from: number) }
    // A wait cycle has no root.
    for cycle in cycles {
      if let first = cycle.steps.first?.number, !seen.contains(first) { expand(from: first) }
    }
    return PendingTree(nodes: nodes, cycles: cycles, forgotten: log.forgotten)
  }

  /// Returns the node for `record`; `waitsFor` differs from `parent` for the first promise of a
  /// wait cycle, which has no parent.
  private func node(
    _ record: Record, _ depth: Int, _ parent: Edge?, _ isRepeated: Bool, waitsFor: Int?
  ) -> PendingTree.Node {
    let state = state(of: record, waits: waitsFor != nil)
    let isPromise = !(record.kind == .wait || record.kind == .observer)
    return PendingTree.Node(
      number: record.number, promise: isPromise ? record.id : nil, operation: operation(of: record),
      name: log.names[record.number],
      location: location(of: record), executor: record.executor?.name,
      age: .nanoseconds(now - record.made.time),
      state: state, depth: depth, parent: parent?.target, isRepeated: isRepeated,
      title: title(of: record),
      words: isRepeated ? ": see above" : words(for: state, record, parent, waitsFor))
  }

  /// Returns why a pending promise is pending, in words.
  func reason(of record: Record, _ edge: Edge?) -> String {
    words(for: state(of: record, waits: edge != nil), record, edge, edge?.target)
  }

  private func state(of record: Record, waits: Bool) -> PendingTree.Node.State {
    switch record.kind {
    case .wait: return .blocking(thread: threadName(record.made.thread))
    case .observer: return .awaited
    case .unknown: return .unknown
    case .resolver, .combinator:
      if waits { return .waits }
      return isLimited(record) ? .limited : .waitsForResolver
    case .handler: break
    }
    if record.adopted != nil { return .adopting }
    if let run = record.run, run.isRunning {
      return .running(since: .nanoseconds(run.start), thread: threadName(run.thread))
    }
    if waits { return .waits }
    // Settled promises are discarded first, so an unknown source has most likely settled.
    let isKnown = record.source.map { records[$0] != nil } ?? true
    if !isKnown, log.forgotten.pending > 0 { return .unknown }
    return .queued(since: .nanoseconds(readyTime(of: record)))
  }

  /// Returns the time at which the handler could have started.
  func readyTime(of record: Record) -> Int64 {
    let settled = record.source.flatMap { records[$0]?.settlement?.moment.time }
    return max(record.made.time, settled ?? record.made.time)
  }

  private func words(
    for state: PendingTree.Node.State, _ record: Record, _ parent: Edge?, _ waitsFor: Int?
  ) -> String {
    let now = Duration.nanoseconds(self.now)
    let age = (now - .nanoseconds(record.made.time)).brief
    let executor = record.executor.map { ", on \($0.name.isEmpty ? "a queue" : $0.name)" } ?? ""
    switch state {
    case .waitsForResolver where record.kind == .combinator:
      return ": waits for a timer or for promises that are not in the record, for \(age)"
    case .waitsForResolver
    where record.origin.map(SourceLocation.isInLibrary) == true:
      return ": its operation has not ended, for \(age)"
    case .waitsForResolver: return ": its resolver has not settled it, for \(age)"
    case .limited: return ": waits for its limiter or for its operation, for \(age)"
    case .unknown: return ": created before the trace began, or discarded"
    case .waits:
      // The first promise of a cycle has no parent that would show what it waits for.
      let target = parent == nil ? waitsFor.map { " for #\($0), in a cycle" } ?? "" : ""
      return "\(record.kind == .handler ? executor : ""): waits\(target), for \(age)"
    case .adopting:
      return
        ": its handler returned \(waitsFor.map { "#\($0)" } ?? "a promise that was discarded")"
    case .running(let since, let thread):
      let blocked = parent?.reason == .blocking ? ", blocked by the wait()" : ""
      return ": its handler runs on \(thread)\(executor) for \((now - since).brief)\(blocked)"
    case .queued(let since):
      return ": its handler was not started\(executor) for \((now - since).brief)"
    case .awaited: return ": a task waits, for \(age)"
    case .blocking(let thread): return ": blocks \(thread) for \(age)"
    }
  }
}
