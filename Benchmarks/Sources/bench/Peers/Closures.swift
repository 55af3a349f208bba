/// The floor for everything that doesn't hop: handwritten closures for exactly this task, without
/// thread safety, errors, or a type to pass on.
func addClosures(to registry: inout Registry) {
  let library = "Closures"

  registry.add("inline-chain", library: library) { chains in
    var sum = 0
    for _ in 0..<chains {
      var callback: (Int) -> Void = { sum &+= $0 }
      for _ in 0..<chainLength { callback = link(to: callback) }
      callback(1)
    }
    check(sum, is: chains * (chainLength + 1))
  }
  registry.add("resolved-map", library: library, note: "an unsynchronised promise") { count in
    var sum = 0
    for _ in 0..<count {
      let promise = BarePromise()
      promise.settle(1)
      promise.map { $0 &+ 1 }.observe { sum &+= $0 }
    }
    check(sum, is: 2 * count)
  }
  registry.add("fan-in", library: library) { count in
    var sum = 0
    let join = Join(count) { sum = $0.reduce(0, &+) }
    var settlers: [(Int) -> Void] = []
    settlers.reserveCapacity(count)
    for index in 0..<count { settlers.append(settler(of: join, at: index)) }
    for (index, settle) in settlers.enumerated() { settle(index) }
    check(sum, is: count * (count - 1) / 2)
  }
  registry.add("fan-out", library: library) { count in
    let total = Slot(0)
    var observers: [(Int) -> Void] = []
    for _ in 0..<count { observers.append(observer(adding: total)) }
    for observer in observers { observer(1) }
    check(total.value, is: count)
  }
  registry.add("recursive-loop", library: library, note: "a trampoline") { rounds in
    var step = bounce(0, rounds)
    while case .more(let next) = step { step = next() }
    if case .done(let round) = step { check(round, is: rounds) }
  }
  // Nested closures would overflow the stack at 6,000 links, both when they are called and when
  // they are released.
  registry.add("deep-chain", library: library, note: "linked nodes and loops") { links in
    let root = Node { $0 &+ 1 }
    extend(root, by: links - 1)
    var value = 1
    var node: Node? = root
    while let current = node {
      value = current.transform(value)
      node = current.takeNext()
    }
    check(value, is: links + 1)
  }
  registry.add("cancel", library: library) { count in
    var cancelled = 0
    for _ in 0..<count {
      let promise = BarePromise()
      promise.onCancel = { cancelled += 1 }
      let child = promise.map { $0 &+ 1 }
      child.onCancel = { promise.cancel() }
      child.cancel()
    }
    check(cancelled, is: count)
  }
  registry.addPending("pending-map-bytes", library: library, note: "an unsynchronised promise") {
    let promise = BarePromise()
    return (promise, promise.map { $0 &+ 1 })
  }
}

@inline(never)
private func link(to next: @escaping (Int) -> Void) -> (Int) -> Void {
  { next($0 &+ 1) }
}

@inline(never)
private func observer(adding total: Slot<Int>) -> (Int) -> Void {
  { total.value &+= $0 }
}

@inline(never)
private func settler(of join: Join, at index: Int) -> (Int) -> Void {
  { join.settle(index, $0) }
}

private final class Join {
  private var values: [Int]
  private var missing: Int
  private let done: ([Int]) -> Void

  init(_ count: Int, done: @escaping ([Int]) -> Void) {
    values = Array(repeating: 0, count: count)
    missing = count
    self.done = done
  }

  func settle(_ index: Int, _ value: Int) {
    values[index] = value
    missing -= 1
    if missing == 0 { done(values) }
  }
}

private enum Bounce {
  case done(Int)
  case more(() -> Bounce)
}

@inline(never)
private func bounce(_ round: Int, _ rounds: Int) -> Bounce {
  round == rounds ? .done(round) : .more { bounce(round + 1, rounds) }
}

/// A link of a chain that a loop traverses.
private final class Node {
  let transform: (Int) -> Int
  private var next: Node?

  init(_ transform: @escaping (Int) -> Int) { self.transform = transform }

  @inline(never)
  func map(_ transform: @escaping (Int) -> Int) -> Node {
    let child = Node(transform)
    next = child
    return child
  }

  func takeNext() -> Node? {
    defer { next = nil }
    return next
  }
}

private func extend(_ root: Node, by links: Int) {
  var last = root
  for _ in 0..<links { last = last.map { $0 &+ 1 } }
}

/// A minimal promise.
///
/// Nothing is inlined; otherwise, the optimizer would see that no promise leaves the loop that
/// creates it, and create none.
private final class BarePromise {
  private var value: Int?
  private var observers: [(Int) -> Void] = []
  var onCancel: (() -> Void)?

  @inline(never)
  func settle(_ value: Int) {
    self.value = value
    for observer in observers { observer(value) }
    observers = []
  }

  @inline(never)
  func observe(_ observer: @escaping (Int) -> Void) {
    if let value { observer(value) } else { observers.append(observer) }
  }

  @inline(never)
  func map(_ transform: @escaping (Int) -> Int) -> BarePromise {
    let child = BarePromise()
    observe { child.settle(transform($0)) }
    return child
  }

  @inline(never)
  func cancel() {
    onCancel?()
    onCancel = nil
    observers = []
  }
}
