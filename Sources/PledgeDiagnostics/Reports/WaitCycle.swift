import Pledge

/// Promises that wait for each other, so that none of them can ever settle.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public struct WaitCycle: Sendable, CustomStringConvertible {
  /// A promise in the cycle, and why it waits for the next one.
  public struct Step: Sendable {
    /// The promise's number in the trace.
    public let number: Int
    /// The promise, or the observer of a blocked thread.
    package let promise: PromiseDiagnostics.PromiseID
    /// Where it was created.
    public let location: Trace.SourceLocation?
    /// A description of the step.
    public let description: String
  }

  /// The steps; the last one waits for the first.
  public let steps: [Step]
  /// False if it depends on whether a queue is serial or has no spare thread, which can't be
  /// determined.
  public let isCertain: Bool

  /// The cycle as text, one line for each step.
  public var description: String {
    let title = isCertain ? "Wait cycle:" : "Wait cycle, if the queue is serial:"
    return ([title] + steps.map { "  \($0.description)" }).joined(separator: "\n")
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Trace {
  /// Returns the cycles of promises that wait for each other: through promises that their handlers
  /// returned, threads that block in `wait()`, and executors that such a thread occupies.
  ///
  /// Of several cycles that share a promise, at least one is reported.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func waitCycles() -> [WaitCycle] {
    let snapshot = snapshot()
    return snapshot.waitCycles(snapshot.dependencies())
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Snapshot {
  func waitCycles(_ dependencies: [Int: [Edge]]) -> [WaitCycle] {
    let edges = dependencies.merging(executorDependencies()) { $0 + $1 }
    var finished: Set<Int> = []
    var cycles: [WaitCycle] = []
    for start in edges.keys.sorted() where !finished.contains(start) {
      // Without recursion, because a chain can be longer than the call stack is deep.
      var path: [(number: Int, next: Int)] = [(start, 0)]
      var position: [Int: Int] = [start: 0]
      while let (number, next) = path.last {
        guard let targets = edges[number], next < targets.count else {
          finished.insert(number)
          position[number] = nil
          path.removeLast()
          continue
        }
        path[path.count - 1].next += 1
        let target = targets[next].target
        if let first = position[target] {
          cycles.append(
            cycle(
              path[first...].map { step in
                (step.number, edges[step.number]?[step.next - 1].reason ?? .source)
              }))
        } else if !finished.contains(target) {
          position[target] = path.count
          path.append((target, 0))
        }
      }
    }
    return cycles
  }

  private func cycle(_ links: [(number: Int, reason: Dependency)]) -> WaitCycle {
    let steps = links.enumerated().compactMap { index, link -> WaitCycle.Step? in
      let target = links[(index + 1) % links.count].number
      guard let record = records[link.number] else { return nil }
      return WaitCycle.Step(
        number: record.number, promise: record.id, location: location(of: record),
        description: title(of: record) + words(link.reason, record, target))
    }
    let isCertain = links.allSatisfy { $0.reason != .executor(isCertain: false) }
    return WaitCycle(steps: steps, isCertain: isCertain)
  }

  private func words(_ reason: Dependency, _ record: Record, _ target: Int) -> String {
    switch reason {
    case .source where record.kind == .wait:
      return " blocks \(threadName(record.made.thread)) until #\(target) settles"
    case .source: return " waits for #\(target), on which it was called"
    case .adoption: return " waits for #\(target), which its handler returned"
    case .input: return " waits for #\(target), one of its inputs"
    case .blocking: return " cannot settle before its handler's wait() ends, which is #\(target)"
    case .nested: return " cannot settle before the handler of #\(target), called inside its own"
    case .executor:
      let name = record.executor?.name ?? ""
      let executor = name.isEmpty ? "its queue" : "\u{201C}\(name)\u{201D}"
      return " cannot run on \(executor), which is blocked by #\(target)"
    }
  }
}
