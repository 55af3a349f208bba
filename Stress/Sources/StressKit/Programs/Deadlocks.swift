extension Program {
  /// Whether work in a limiter may wait for ever, in one order of the threads.
  ///
  /// A limiter starts work in the order in which it was submitted. So work that waits only for work
  /// submitted before it, in whatever limiter, comes to an end. What another thread submits may come
  /// later, and be queued behind the very work that waits for it: a deadlock of the program's own.
  var mayDeadlock: Bool {
    let awaited = awaitedPromises
    return steps.contains { step in
      guard case .parallel(let threads) = step.operation else { return false }
      let limited = threads.map { thread in thread.filter(\.operation.isLimited).map(\.id) }
      return limited.indices.contains { thread in
        let foreign = limited.indices.filter { $0 != thread }.flatMap { limited[$0] }
        return !Self.reachable(from: limited[thread], by: awaited).isDisjoint(with: foreign)
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
