import Pledge

/// The records of a trace, which it finds by their numbers and, while they are in memory, by their
/// promises.
struct RecordTable: Sendable {
  fileprivate static let blockSize = 512

  /// The records in no particular order: in blocks, so that a table that grows copies none of them.
  ///
  /// A record's position changes only when another one is removed.
  private var blocks: [[Record]] = []
  private var byNumber = PositionTable(isByPromise: false)
  private var byPromise = PositionTable(isByPromise: true)

  private(set) var count = 0
  /// All records, in no particular order.
  var values: FlattenSequence<[[Record]]> { blocks.joined() }
  /// The numbers of all records, in ascending order.
  var numbers: [Int] { values.map(\.number).sorted() }
  /// The records of the promises that are in memory.
  var living: [Record] { byPromise.positions.map { self[at: Int($0)] } }

  subscript(number: Int) -> Record? { position(of: number).map { self[at: $0] } }

  subscript(at position: Int) -> Record {
    get { blocks[position / Self.blockSize][position % Self.blockSize] }
    _modify { yield &blocks[position / Self.blockSize][position % Self.blockSize] }
  }

  func contains(_ number: Int) -> Bool { position(of: number) != nil }

  func position(of number: Int) -> Int? { byNumber.position(of: UInt(number), in: blocks) }

  func position(of promise: PromiseDiagnostics.PromiseID) -> Int? {
    byPromise.position(of: promise.rawValue, in: blocks)
  }

  mutating func insert(_ record: Record) -> Int {
    if count % Self.blockSize == 0 {
      blocks.append([])
      blocks[blocks.count - 1].reserveCapacity(Self.blockSize)
    }
    // An earlier promise with the identifier can't be in memory any more.
    if let position = position(of: record.id) { release(position) }
    blocks[blocks.count - 1].append(record)
    byNumber.insert(count, in: blocks)
    byPromise.insert(count, in: blocks)
    count += 1
    return count - 1
  }

  /// Notes that the promise of a record isn't in memory any more.
  mutating func release(_ position: Int) { byPromise.replace(position, in: blocks) }

  /// Removes and returns a record.
  mutating func remove(_ number: Int) -> Record? {
    guard let position = position(of: number) else { return nil }
    let record = self[at: position]
    if self.position(of: record.id) == position { release(position) }
    byNumber.replace(position, in: blocks)
    count -= 1
    if position != count {
      // The last record takes its place.
      byNumber.replace(count, with: position, in: blocks)
      byPromise.replace(count, with: position, in: blocks)
      self[at: position] = self[at: count]
    }
    blocks[blocks.count - 1].removeLast()
    if blocks[blocks.count - 1].isEmpty { blocks.removeLast() }
    return record
  }
}

/// The positions of records by their numbers or promises: a hash table with open addressing.
///
/// It reads the keys from the records, so that each takes only about eight bytes.
private struct PositionTable: Sendable {
  private static let (free, removed) = (UInt32.max, UInt32.max - 1)

  let isByPromise: Bool
  /// Each position, at or after the slot of its key's hash value.
  private var slots: [UInt32] = Array(repeating: free, count: 64)
  /// The number of slots that aren't free.
  private var used = 0

  init(isByPromise: Bool) { self.isByPromise = isByPromise }

  var positions: [UInt32] { slots.filter { $0 < Self.removed } }

  func position(of key: UInt, in blocks: [[Record]]) -> Int? {
    var slot = home(key)
    while slots[slot] != Self.free {
      let position = slots[slot]
      if position != Self.removed, self.key(at: position, in: blocks) == key {
        return Int(position)
      }
      slot = (slot + 1) & mask
    }
    return nil
  }

  mutating func insert(_ position: Int, in blocks: [[Record]]) {
    if used * 4 > slots.count * 3 {
      let positions = positions
      let size = positions.count * 2 > slots.count ? slots.count * 2 : slots.count
      (slots, used) = (Array(repeating: Self.free, count: size), 0)
      for position in positions { insert(Int(position), in: blocks) }
    }
    var slot = home(key(at: UInt32(position), in: blocks))
    while slots[slot] != Self.free { slot = (slot + 1) & mask }
    slots[slot] = UInt32(position)
    used += 1
  }

  /// Replaces a position with `new`, or removes it; it needn't be in the table.
  mutating func replace(_ position: Int, with new: Int? = nil, in blocks: [[Record]]) {
    var slot = home(key(at: UInt32(position), in: blocks))
    while slots[slot] != Self.free, slots[slot] != position { slot = (slot + 1) & mask }
    if slots[slot] == position { slots[slot] = new.map { UInt32($0) } ?? Self.removed }
  }

  private var mask: Int { slots.count - 1 }

  /// Returns the first slot for a key; the shift leaves the bits that depend on all of the key.
  private func home(_ key: UInt) -> Int {
    Int(truncatingIfNeeded: key &* 0x9E37_79B9_7F4A_7C15 >> 28) & mask
  }

  private func key(at position: UInt32, in blocks: [[Record]]) -> UInt {
    let (block, index) = Int(position).quotientAndRemainder(dividingBy: RecordTable.blockSize)
    return isByPromise ? blocks[block][index].id.rawValue : UInt(blocks[block][index].number)
  }
}
