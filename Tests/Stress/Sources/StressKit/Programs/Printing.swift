extension Program: CustomStringConvertible {
  /// The program as Swift-like text.
  package var description: String {
    var lines: [String] = []
    switch kind {
    case .sequential:
      lines.append("// One thread; `first` and `second` are manual executors.")
    case .confluent, .chaotic:
      lines.append("// `first` and `second` are serial queues.")
    }
    for step in steps { lines += step.lines }
    return lines.joined(separator: "\n")
  }
}

extension Step {
  var lines: [String] {
    func handler(_ source: Int, _ name: String, _ place: Place, _ body: Body, _ argument: String)
      -> [String]
    {
      block("let p\(id) = p\(source).\(name)(on: .\(place)) { \(argument)", body.lines(id))
    }
    switch operation {
    case .pending: return ["let (p\(id), r\(id)) = Promise<Int>.withResolvers()"]
    case .value: return ["let p\(id) = Promise.value(\(id))"]
    case .rejected: return ["let p\(id) = Promise<Int>.rejected(Failure(\(id)))"]
    case .map(let source, let place, let body):
      return handler(source, "map", place, body, "value in")
    case .then(let source, let place, let body):
      return handler(source, "then", place, body, "value in")
    case .recover(let source, let place, let body):
      return handler(source, "recover", place, body, "error in")
    case .catch(let source, let place, let body):
      return handler(source, "catch", place, body, "error in")
    case .finally(let source, let place, let body):
      return handler(source, "finally", place, body, "")
    case .reduce(let source, let place, let count, let body):
      return block(
        "let p\(id) = p\(source).reduce(on: .\(place), 0..<\(count)) { value, element in",
        body.lines(id))
    case .adopt(let source, let times):
      return block(
        "let p\(id) = (0..<\(times)).reduce(p\(source)) { inner, _ in",
        ["Promise.value(0).then(on: .immediate) { _ in inner }"])
    case .gather(let gathering, let inputs):
      let list = inputs.map { "p\($0)" }.joined(separator: ", ")
      return ["let p\(id) = Promise.\(gathering)([\(list)])"]
    case .timeout(let source, let ticks):
      return ["let p\(id) = p\(source).timeout(after: .seconds(\(ticks)), clock: clock)"]
    case .limited(let limiter, let body):
      return block("let p\(id) = limiters[\(limiter)].run {", body.lines(id))
    case .coalesced(let key, let body):
      return block("let p\(id) = coalescer.promise(for: \(key)) {", body.lines(id))
    case .uncancellable(let source): return ["let p\(id) = p\(source).uncancellable()"]
    case .fulfill(let target): return ["r\(target).fulfill(\(id))"]
    case .reject(let target): return ["r\(target).reject(Failure(\(id)))"]
    case .resolve(let target, let other): return ["r\(target).resolve(with: p\(other))"]
    case .onCancel(let target, let steps):
      return block("r\(target).onCancel {", steps.flatMap(\.lines))
    case .cancel(let target): return ["p\(target).cancel()"]
    case .dropPromise(let target): return ["p\(target) = nil"]
    case .dropResolver(let target): return ["r\(target) = nil"]
    case .abandon(let target): return ["r\(target).abandon()"]
    case .runNext(let place): return ["\(place).runNext()"]
    case .runAll(let place): return ["\(place).runAll()"]
    case .advance(let ticks): return ["await clock.advance(by: .seconds(\(ticks)))"]
    case .parallel(let threads):
      return ["inParallel("] + threads.flatMap { block("  {", $0.flatMap(\.lines), end: "  },") }
        + [")"]
    }
  }

  private func block(_ head: String, _ lines: [String], end: String = "}") -> [String] {
    [head] + lines.map { "  " + (end.first == " " ? "  " : "") + $0 } + [end]
  }
}

extension Body {
  fileprivate func lines(_ id: Int) -> [String] {
    let last =
      switch result {
      case .value: "return number(\(id))"
      case .throwing: "throw Failure(\(id))"
      case .promise(let other): "return p\(other)"
      }
    return steps.flatMap(\.lines) + [last]
  }
}
