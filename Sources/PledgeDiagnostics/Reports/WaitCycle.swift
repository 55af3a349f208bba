import Pledge

/// Promises that wait for each other, so that none of them can ever settle.
public struct WaitCycle: Sendable, CustomStringConvertible {
  /// The promises, and the threads that block; each waits for the next one, and the last one for
  /// the first.
  public let steps: [Trace.Line]
  /// False if it depends on whether a queue is serial or has no spare thread, which can't be
  /// determined.
  public let isCertain: Bool

  /// The cycle as text, one line for each step.
  public var description: String {
    let title = isCertain ? "Wait cycle:" : "Wait cycle, if the queue is serial:"
    return ([title] + steps.map { "  \($0.description)" }).joined(separator: "\n")
  }
}

extension Trace {
  /// Returns the cycles of promises that wait for each other: through promises that their handlers
  /// returned, threads that block in `wait()`, and executors that such a thread occupies.
  ///
  /// Of several cycles that share a promise, at least one is reported.
  ///
  /// - Complexity: O(n log n) for n promises in the record.
  public func waitCycles() -> [WaitCycle] {
    let snapshot = snapshot()
    return snapshot.waitCycles(Dependencies(snapshot))
  }
}

extension Snapshot {
  func waitCycles(_ dependencies: Dependencies) -> [WaitCycle] {
    var edges = dependencies
    edges.addExecutors()
    var finished: Set<Int> = []
    var cycles: [WaitCycle] = []
    for start in ordered.lazy.filter(\.isPending).map(\.number) where !finished.contains(start) {
      // Without recursion, because a chain can be longer than the call stack is deep.
      var path: [(number: Int, next: Int)] = [(start, 0)]
      var position: [Int: Int] = [start: 0]
      while let (number, next) = path.last {
        let targets = edges[number]
        guard next < targets.count else {
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
                (step.number, edges[step.number][step.next - 1].reason)
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
    let steps = links.enumerated().compactMap { index, link -> Trace.Line? in
      let target = links[(index + 1) % links.count].number
      return records[link.number].map { line($0, words(link.reason, $0, target)) }
    }
    let isCertain = links.allSatisfy { $0.reason != .executor(isCertain: false) }
    return WaitCycle(steps: steps, isCertain: isCertain)
  }

  private func words(_ reason: Dependency, _ record: Record, _ target: Int) -> String {
    switch reason {
    case .source where record.kind == .wait:
      return " blocks \(threadName(of: record)) until #\(target) settles"
    case .input where record.kind == .resolver:
      return " waits for #\(target), with whose result it settles"
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
