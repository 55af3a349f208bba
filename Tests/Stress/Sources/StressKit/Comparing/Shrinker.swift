/// Reduces a failing program to a smaller one that still fails.
package struct Shrinker {
  private let fails: (Program) -> Bool

  /// Creates a shrinker; `fails` returns whether a program still shows the fault.
  package init(fails: @escaping (Program) -> Bool) { self.fails = fails }

  /// Returns the smallest failing program found.
  ///
  /// `program` itself must fail.
  package func smallest(_ program: Program) -> Program {
    var best = program
    while let smaller = candidates(best).first(where: fails) { best = smaller }
    return best
  }

  /// Programs that are slightly smaller or simpler, those with the largest reduction first.
  private func candidates(_ program: Program) -> [Program] {
    shrunk(program.steps).map { Program(kind: program.kind, steps: $0) }
  }

  private func shrunk(_ steps: [Step]) -> [[Step]] {
    var list: [[Step]] = []
    var size = steps.count
    while size >= 1 {
      for start in stride(from: 0, to: steps.count, by: size) {
        let end = min(start + size, steps.count)
        list.append(Array(steps[..<start] + steps[end...]))
      }
      size /= 2
    }
    for index in steps.indices {
      for simpler in simplified(steps[index].operation) {
        var changed = steps
        changed[index].operation = simpler
        list.append(changed)
      }
    }
    return list
  }

  private func simplified(_ operation: Operation) -> [Operation] {
    var list: [Operation] = []
    if let body = operation.body {
      list += shrunk(body.steps).map { operation.with(Body(body.result, $0)) }
      if body.result != .value { list.append(operation.with(Body(.value, body.steps))) }
    }
    if let place = operation.place, place != .immediate {
      var simpler = operation
      simpler.place = .immediate
      list.append(simpler)
    }
    switch operation {
    case .onCancel(let target, let steps):
      list += shrunk(steps).map { .onCancel(target, $0) }
    case .gather(let gathering, let inputs) where inputs.count > 1:
      list += inputs.indices.map { index in
        var fewer = inputs
        fewer.remove(at: index)
        return .gather(gathering, fewer)
      }
    case .reduce(let source, let place, let count, let body) where count > 1:
      list.append(.reduce(source, place, count: count - 1, body))
    case .adopt(let source, let times) where times > 1:
      list.append(.adopt(source, times: times - 1))
    case .parallel(let threads):
      for index in threads.indices {
        list += shrunk(threads[index]).map { thread in
          var changed = threads
          changed[index] = thread
          return .parallel(changed.filter { !$0.isEmpty })
        }
      }
    default: break
    }
    return list
  }
}

extension Operation {
  fileprivate func with(_ body: Body) -> Operation {
    var changed = self
    changed.body = body
    return changed
  }
}
