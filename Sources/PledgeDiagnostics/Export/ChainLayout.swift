import Pledge

/// The order and indentation of the timeline's rows.
///
/// The promises of a chain have the same indentation. Indented below a promise are the promises that
/// its handler created, its branches if it has several consumers, and the chains for which a
/// combinator waits. Promises that the library's internal handlers created are placed like those of
/// the enclosing user's handler, so loops inside combinators don't nest.
struct ChainLayout {
  struct Place {
    let number: Int
    let depth: Int
    let head: Int
    /// The index after the chain and everything indented in it; only for the chain's first place.
    var chainEnd: Int?
  }

  private(set) var places: [Place] = []

  private let snapshot: Snapshot
  private var consumers: [Int: [Int]] = [:]
  private var chains: [Int: [Int]] = [:]
  private var parents: [Int: Int] = [:]

  private var records: RecordTable { snapshot.records }

  init(_ snapshot: Snapshot) {
    self.snapshot = snapshot
    let shown = snapshot.ordered.filter { !$0.isInput }
    for record in shown {
      if let source = record.source, records.contains(source) {
        consumers[source, default: []].append(record.number)
        parents[record.number] = source
      } else if let parent = surroundings(of: record) {
        parents[record.number] = parent
      }
    }
    for (result, sources) in snapshot.inputs.sorted(by: { $0.key < $1.key }) {
      for source in sources { put(chainOf: source, below: result) }
    }
    for record in shown where !(record.source.map(records.contains) ?? false) {
      if let parent = parents[record.number] {
        chains[parent, default: []].append(record.number)
      }
    }
    arrange(shown.map(\.number).filter { parents[$0] == nil })
  }

  func surroundings(of record: Record) -> Int? {
    var inner = record
    // A promise from before the recording wasn't created where it was first seen.
    while inner.kind != .unknown, let number = inner.made.inside, let outer = records[number] {
      if outer.isInput { return outer.result.flatMap { records.contains($0) ? $0 : nil } }
      if !snapshot.isInternal(outer) { return number }
      inner = outer
    }
    return nil
  }

  private mutating func put(chainOf source: Int, below result: Int) {
    var first = source
    while let parent = parents[first] {
      if parent == result { return }
      // A chain that was created in a handler stays below it.
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

  /// Adds the places without recursion, because a chain can be longer than the call stack is deep.
  private mutating func arrange(_ roots: [Int]) {
    // Without a number: the end of the chain.
    var rest: [(number: Int?, depth: Int, head: Int?)] = roots.reversed().map { ($0, 0, nil) }
    while let (number, depth, first) = rest.popLast() {
      let head = first ?? places.count
      guard let number else {
        places[head].chainEnd = places.count
        continue
      }
      if first == nil { rest.append((nil, depth, head)) }
      places.append(Place(number: number, depth: depth, head: head))
      let consumers = consumers[number] ?? []
      if consumers.count == 1 { rest.append((consumers[0], depth, head)) }
      let below = (chains[number] ?? []).sorted() + (consumers.count > 1 ? consumers : [])
      for chain in below.reversed() { rest.append((chain, depth + 1, nil)) }
    }
  }
}
