extension Program {
  /// Whether work in a limiter or a coalescer can wait forever in some order of the threads.
  ///
  /// A limiter starts work in submission order, so work that waits only for work submitted earlier,
  /// to any limiter, always completes. Work that another thread submits can be queued behind the
  /// work that waits for it: a deadlock that the program itself causes.
  ///
  /// A request to a coalescer can join the work of another request. Therefore the work of a request
  /// must not wait for a request with the same key on another thread, which may have joined that
  /// work.
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

  /// For each promise, the promises whose results it may wait for.
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
    // Each request may wait for the work of another one with the same key.
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

  /// The promises that the step's promise may wait for.
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
