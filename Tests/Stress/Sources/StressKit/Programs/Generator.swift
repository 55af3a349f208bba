package struct Generator {
  private var random: SplitMix
  private let kind: Program.Kind
  private var nextID = 0
  private var promises: [Int] = []
  /// Promises with a resolver.
  private var pending: [Int] = []
  /// Whether the program may abandon promises, which then stay pending.
  private let mayAbandon: Bool

  private init(kind: Program.Kind, seed: UInt64) {
    random = SplitMix(seed: seed)
    self.kind = kind
    mayAbandon = random.oneIn(4)
  }

  /// Returns the program that `kind` and `seed` determine.
  package static func program(_ kind: Program.Kind, seed: UInt64) -> Program {
    var generator = Generator(kind: kind, seed: seed)
    return Program(kind: kind, steps: generator.steps())
  }

  private mutating func steps() -> [Step] {
    let count = Int.random(in: 3...16, using: &random)
    var steps = (0..<count).compactMap { _ in step(depth: 0) }
    guard kind != .sequential else { return steps }
    let threads = (0..<Int.random(in: 2...3, using: &random)).map { _ in thread() }
    steps.append(Step(id(), .parallel(threads)))
    return steps
  }

  private mutating func thread() -> [Step] {
    (0..<Int.random(in: 1...6, using: &random)).compactMap { _ in step(depth: 0) }
  }

  private mutating func id() -> Int {
    nextID += 1
    return nextID
  }

  // MARK: Choosing

  private mutating func step(depth: Int) -> Step? {
    guard !promises.isEmpty else { return make(.pending) }
    let choice = Int.random(in: 0..<100, using: &random)
    return switch choice {
    case ..<14: make(.pending)
    case ..<16: make(.value)
    case ..<18: make(.rejected)
    case ..<58: handler(depth)
    case ..<64: gathering()
    case ..<84: settling(depth)
    case ..<94: cancelling(depth)
    default: depth == 0 ? passing() : settling(depth)
    }
  }

  private mutating func make(_ operation: Operation) -> Step {
    let step = Step(id(), operation)
    promises.append(step.id)
    if operation == .pending { pending.append(step.id) }
    return step
  }

  private mutating func anyPromise() -> Int {
    // Prefers recent promises, so that chains become long.
    let places = (0..<2).map { _ in Int.random(in: 0..<promises.count, using: &random) }
    return promises[promises.count - 1 - min(places[0], places[1])]
  }

  private mutating func place() -> Place {
    switch Int.random(in: 0..<8, using: &random) {
    case ..<4: .immediate
    case ..<6: .first
    case 6: .second
    default: .anywhere
    }
  }

  private mutating func handler(_ depth: Int) -> Step {
    let source = anyPromise()
    let place = place()
    let own = id()
    var operation: Operation
    switch Int.random(in: 0..<20, using: &random) {
    case ..<4: operation = .map(source, place, body(own, depth))
    case ..<8: operation = .then(source, place, body(own, depth))
    case ..<10: operation = .recover(source, place, body(own, depth))
    case 10: operation = .catch(source, place, body(own, depth, mayThrow: false))
    case ..<13: operation = .finally(source, place, body(own, depth))
    case 13:
      // The handler runs several times, so it creates no promises.
      var body = body(own, 2)
      body.steps = []
      let count = Int.random(in: 1...3, using: &random)
      operation = .reduce(source, place, count: count, body)
    case 14..<17: operation = .adopt(source, times: Int.random(in: 1...3, using: &random))
    case 17:
      operation =
        random.oneIn(2)
        ? .uncancellable(source)
        : .timeout(source, ticks: Int.random(in: 1...5, using: &random))
    // Not in a handler, which could be part of the work that the request joins.
    case 18 where depth == 0:
      operation = .coalesced(key: Int.random(in: 0...1, using: &random), work(own, depth))
    default:
      // Not in a handler, which could wait for work that is queued behind it.
      operation =
        depth == 0
        ? .limited(Int.random(in: 0...1, using: &random), work(own, depth))
        : .map(source, place, body(own, depth))
    }
    switch operation {
    case .then, .recover: break
    default:
      // Only these operators detect that they would wait for themselves.
      if operation.body?.result == .promise(own) { operation.body?.result = .value }
    }
    promises.append(own)
    return Step(own, operation)
  }

  private mutating func body(_ own: Int, _ depth: Int, mayThrow: Bool = true) -> Body {
    let result: Body.Result =
      switch Int.random(in: 0..<12, using: &random) {
      case 0 where mayThrow: .throwing
      case 1...6: .promise(anyPromise())
      case 7 where random.oneIn(4): .promise(own)
      default: .value
      }
    // Chosen after the result, which must not refer to promises that these steps create.
    guard depth < 2, random.oneIn(3) else { return Body(result) }
    let count = Int.random(in: 1...2, using: &random)
    return Body(result, (0..<count).compactMap { _ in step(depth: depth + 1) })
  }

  /// Returns the body of an operation of a limiter or a coalescer.
  ///
  /// If threads submit them at the same time, one that waits for another one's promise can be queued
  /// before that one, or be joined by it, and both wait forever. In chaotic programs, they therefore
  /// return no promises but pending ones that follow no others.
  private mutating func work(_ own: Int, _ depth: Int) -> Body {
    var body = body(own, depth)
    if kind == .chaotic, case .promise = body.result {
      let waiting = pending.filter { !mayFollow($0) }.randomElement(using: &random)
      body.result = waiting.map { .promise($0) } ?? .value
    }
    return body
  }

  private func mayFollow(_ id: Int) -> Bool { kind != .chaotic || id.isMultiple(of: 2) }

  private mutating func gathering() -> Step {
    let inputs = (0..<Int.random(in: 1...3, using: &random)).map { _ in anyPromise() }
    return make(.gather(Gathering.allCases.randomElement(using: &random) ?? .all, inputs))
  }

  private mutating func settling(_ depth: Int) -> Step? {
    guard let target = pending.randomElement(using: &random) else { return nil }
    switch Int.random(in: 0..<8, using: &random) {
    case 0 where mayFollow(target):
      let smaller = promises.filter { $0 < target }
      guard let other = smaller.randomElement(using: &random) else { break }
      return Step(id(), .resolve(target, with: other))
    case ..<3: return Step(id(), .reject(target))
    case 3: return Step(id(), .dropResolver(target))
    case 4 where mayAbandon: return Step(id(), .abandon(target))
    default: break
    }
    return Step(id(), .fulfill(target))
  }

  private mutating func cancelling(_ depth: Int) -> Step? {
    switch Int.random(in: 0..<6, using: &random) {
    case ..<3: return Step(id(), .cancel(anyPromise()))
    case 3: return Step(id(), .dropPromise(anyPromise()))
    default:
      guard let target = pending.randomElement(using: &random) else { return nil }
      let own = id()
      let steps = depth < 1 && random.oneIn(3) ? [step(depth: depth + 1)].compactMap { $0 } : []
      return Step(own, .onCancel(target, steps))
    }
  }

  private mutating func passing() -> Step? {
    guard kind == .sequential else { return settling(0) }
    return switch Int.random(in: 0..<6, using: &random) {
    case ..<2: Step(id(), .runNext(random.oneIn(3) ? .second : .first))
    case ..<4: Step(id(), .runAll(random.oneIn(3) ? .second : .first))
    default: Step(id(), .advance(Int.random(in: 1...4, using: &random)))
    }
  }
}
