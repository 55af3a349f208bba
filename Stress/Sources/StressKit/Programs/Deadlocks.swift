extension Program {
  /// Whether work in a limiter or a coalescer may wait for ever, in one order of the threads.
  ///
  /// A limiter starts work in the order in which it was submitted. So work that waits only for work
  /// submitted before it, in whatever limiter, comes to an end. What another thread submits may come
  /// later, and be queued behind the very work that waits for it: a deadlock of the program's own.
  ///
  /// A request to a coalescer may join the work of another one. So the work of a request must not
  /// wait for a request with the same key that another thread makes, which may have joined that work.
  var mayDeadlock: Bool {
    let awaited = awaitedPromises
    return steps.contains { step in
      guard case .parallel(let threads) = step.operation else { return false }
      func waits(_ work: [Int], in thread: Int, for kind: (Operation) -> Bool) -> Bool {
        let foreign = threads.indices.filter { $0 != thread }.flatMap { threads[$0] }
        return !Self.reachable(from: work, by: awaited)
          .isDisjoint(with: foreign.filter { kind($0.operation) }.map(\.id))
      }
      return threads.indices.contains { thread in
        threads[thread].contains { step in
          let operation = step.operation
          if operation.isLimited { return waits([step.id], in: thread, for: \.isLimited) }
          guard let key = operation.coalescedKey else { return false }
          return waits(operation.awaitedPromises, in: thread) { $0.coalescedKey == key }
        }
      }
    }
  }

  /// For each promise, those whose outcome it may wait for.
  private var awaitedPromises: [Int: [Int]] {
    var awaited: [Int: [Int]] = [:]
    var requests: [Int: [(id: Int, awaited: [Int])]] = [:]
    for step in allSteps {
      if case .coalesced(let key, _) = step.operation {
        requests[key, default: []].append((step.id, step.operation.awaitedPromises))
      }
      switch step.operation {
      case .resolve(let target, let other): awaited[target, default: []].append(other)
      default: awaited[step.id, default: []] += step.operation.awaitedPromises
      }
    }
    // Each of them may wait for the work of another one.
    for same in requests.values {
      for request in same { awaited[request.id, default: []] += same.flatMap(\.awaited) }
    }
    return awaited
  }

  private static func reachable(from ids: [Int], by awaited: [Int: [Int]]) -> Set<Int> {
    var found: Set<Int> = []
    var next = ids
    while let id = next.popLast() {
      if found.insert(id).inserted { next += awaited[id] ?? [] }
    }
    return found
  }
}

extension Operation {
  fileprivate var isLimited: Bool { if case .limited = self { true } else { false } }

  fileprivate var coalescedKey: Int? {
    if case .coalesced(let key, _) = self { key } else { nil }
  }

  /// The promises for which the one that the step makes may wait.
  fileprivate var awaitedPromises: [Int] {
    var list = source.map { [$0] } ?? []
    switch self {
    case .gather(_, let inputs): list += inputs
    case .then(_, _, let body), .recover(_, _, let body), .reduce(_, _, _, let body),
      .limited(_, let body), .coalesced(_, let body):
      if case .promise(let returned) = body.result { list.append(returned) }
    default: break
    }
    return list
  }
}
