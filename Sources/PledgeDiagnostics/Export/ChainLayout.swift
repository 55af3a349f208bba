import Pledge

/// The order of the rows: each chain from its first promise on, in one line.
///
/// What was made inside a handler stands below it and indented, and so do the branches of a promise
/// with several consumers, and the chains that a combinator waits for. What a handler of the
/// library made for its own ends stands with what the user's handler around it made, so that loops
/// inside combinators do not nest.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
struct ChainLayout {
  struct Place {
    let number: Int
    let depth: Int
    /// The index of the first place of the chain.
    let head: Int
    /// The index behind the chain and all that is indented in it; only for its first place.
    var chainEnd: Int?
  }

  private(set) var places: [Place] = []
  /// What a combinator, or a resolver that was given a promise, waits for.
  private(set) var inputs: [Int: [Int]] = [:]

  private let records: [Int: Record]
  private let isInternal: (Record) -> Bool
  /// Those that were attached to a promise.
  private var consumers: [Int: [Int]] = [:]
  /// The chains that stand below a promise.
  private var chains: [Int: [Int]] = [:]
  private var parents: [Int: Int] = [:]

  init(_ records: [Int: Record], isInternal: @escaping (Record) -> Bool) {
    self.records = records
    self.isInternal = isInternal
    let ordered = records.values.sorted { $0.number < $1.number }
    let shown = ordered.filter { !Self.isInput($0) }
    for record in ordered where Self.isInput(record) {
      guard let result = record.result, let source = record.source, records[result] != nil,
        records[source] != nil
      else { continue }
      inputs[result, default: []].append(source)
    }
    for record in shown {
      if let source = record.source, records[source] != nil {
        consumers[source, default: []].append(record.number)
        parents[record.number] = source
      } else if let parent = surroundings(of: record) {
        parents[record.number] = parent
      }
    }
    for (result, sources) in inputs.sorted(by: { $0.key < $1.key }) {
      for source in sources { put(chainOf: source, below: result) }
    }
    for record in shown where record.source.flatMap({ records[$0] }) == nil {
      if let parent = parents[record.number] {
        chains[parent, default: []].append(record.number)
      }
    }
    arrange(shown.map(\.number).filter { parents[$0] == nil })
  }

  /// Observers that work for a promise have no row.
  private static func isInput(_ record: Record) -> Bool {
    record.kind == .observer && record.result != nil
  }

  /// The promise in whose handler, which is not one of the library's own, a promise was made.
  func surroundings(of record: Record) -> Int? {
    var inner = record
    // One from before the trace was made elsewhere.
    while inner.kind != .unknown, let number = inner.made.inside, let outer = records[number] {
      if Self.isInput(outer) { return outer.result.flatMap { records[$0] == nil ? nil : $0 } }
      if !isInternal(outer) { return number }
      inner = outer
    }
    return nil
  }

  private mutating func put(chainOf source: Int, below result: Int) {
    var first = source
    while let parent = parents[first] {
      if parent == result { return }
      // A chain inside of a handler stays there.
      guard records[first]?.source == parent else { return }
      first = parent
    }
    var above: Int? = result
    while let number = above {
      if number == first { return }
      above = parents[number]
    }
    parents[first] = result
  }

  /// By hand and not by recursion, as chains may be longer than the stack is deep.
  private mutating func arrange(_ roots: [Int]) {
    var rest = roots.reversed().map { (number: $0, depth: 0, head: Int?.none) }
    while let (number, depth, head) = rest.popLast() {
      let head = head ?? places.count
      places.append(Place(number: number, depth: depth, head: head))
      let consumers = consumers[number] ?? []
      if consumers.count == 1 { rest.append((consumers[0], depth, head)) }
      let below = (chains[number] ?? []).sorted() + (consumers.count > 1 ? consumers : [])
      for chain in below.reversed() { rest.append((chain, depth + 1, nil)) }
    }
    closeChains()
  }

  private mutating func closeChains() {
    // A chain ends with the last row of whatever is indented in it.
    var open: [(head: Int, depth: Int)] = []
    for index in places.indices {
      let place = places[index]
      while let last = open.last, last.head != place.head, last.depth >= place.depth {
        places[last.head].chainEnd = index
        open.removeLast()
      }
      if place.head == index { open.append((index, place.depth)) }
    }
    for chain in open { places[chain.head].chainEnd = places.count }
  }
}
