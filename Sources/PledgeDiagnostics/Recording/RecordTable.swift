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

  var count: Int { byNumber.count }
  /// All records, in no particular order.
  var values: FlattenSequence<[[Record]]> { blocks.joined() }
  /// The numbers of all records, in ascending order.
  var numbers: [Int] { values.map(\.number).sorted() }
  /// The records of the promises that are in memory.
  var living: [Record] { byPromise.positions.map { self[at: $0] } }

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

  /// Adds a record, and returns its position.
  mutating func insert(_ record: Record) -> Int {
    let position = count
    if position % Self.blockSize == 0 {
      blocks.append([])
      blocks[blocks.count - 1].reserveCapacity(Self.blockSize)
    }
    blocks[blocks.count - 1].append(record)
    byNumber.set(position, for: UInt(record.number), in: blocks)
    byPromise.set(position, for: record.id.rawValue, in: blocks)
    return position
  }

  /// Notes that a promise isn't in memory any more, and returns the position of its record.
  mutating func release(_ promise: PromiseDiagnostics.PromiseID) -> Int? {
    byPromise.remove(promise.rawValue, in: blocks)
  }

  /// Removes a record; returns it, and whether its promise is in memory.
  mutating func remove(_ number: Int) -> (record: Record, isLiving: Bool)? {
    guard let position = position(of: number) else { return nil }
    let (record, end) = (self[at: position], count - 1)
    let isLiving = self.position(of: record.id) == position
    if isLiving { _ = release(record.id) }
    _ = byNumber.remove(UInt(number), in: blocks)
    // The last record takes its place.
    let last = self[at: end]
    if position != end {
      byNumber.set(position, for: UInt(last.number), in: blocks)
      if self.position(of: last.id) == end {
        byPromise.set(position, for: last.id.rawValue, in: blocks)
      }
      self[at: position] = last
    }
    blocks[blocks.count - 1].removeLast()
    if blocks[blocks.count - 1].isEmpty { blocks.removeLast() }
    return (record, isLiving)
  }
}

/// The positions of records by their numbers or promises: a hash table with open addressing.
///
/// It reads the keys from the records, so that each takes only about eight bytes.
private struct PositionTable: Sendable {
  private let isByPromise: Bool
  /// Each position plus one, at or after the slot of its key's hash value; zero if the slot is free.
  private var slots: [UInt32] = Array(repeating: 0, count: 64)
  private(set) var count = 0

  init(isByPromise: Bool) { self.isByPromise = isByPromise }

  /// The positions, in no particular order.
  var positions: some Sequence<Int> { slots.lazy.filter { $0 != 0 }.map { Int($0) - 1 } }

  func position(of key: UInt, in blocks: [[Record]]) -> Int? {
    let position = slots[slot(of: key, in: blocks)]
    return position == 0 ? nil : Int(position) - 1
  }

  /// Adds a position, or replaces the one that the key has.
  mutating func set(_ position: Int, for key: UInt, in blocks: [[Record]]) {
    var slot = slot(of: key, in: blocks)
    if slots[slot] == 0 {
      count += 1
      if count * 4 > slots.count * 3 {
        grow(blocks)
        slot = self.slot(of: key, in: blocks)
      }
    }
    slots[slot] = UInt32(position + 1)
  }

  mutating func remove(_ key: UInt, in blocks: [[Record]]) -> Int? {
    var free = slot(of: key, in: blocks)
    guard slots[free] != 0 else { return nil }
    let position = Int(slots[free]) - 1
    count -= 1
    // Those behind it move up if they stay at or after their slots, so that they are still found.
    var next = (free + 1) & mask
    while slots[next] != 0 {
      let distance = (next - home(self.key(at: slots[next], in: blocks))) & mask
      if distance >= (next - free) & mask {
        slots[free] = slots[next]
        free = next
      }
      next = (next + 1) & mask
    }
    slots[free] = 0
    return position
  }

  private mutating func grow(_ blocks: [[Record]]) {
    let old = exchange(&slots, with: Array(repeating: 0, count: slots.count * 2))
    for position in old where position != 0 {
      slots[slot(of: key(at: position, in: blocks), in: blocks)] = position
    }
  }

  private var mask: Int { slots.count - 1 }

  private func home(_ key: UInt) -> Int { key.spread & mask }

  private func key(at position: UInt32, in blocks: [[Record]]) -> UInt {
    let (block, index) = Int(position - 1).quotientAndRemainder(dividingBy: RecordTable.blockSize)
    return isByPromise ? blocks[block][index].id.rawValue : UInt(blocks[block][index].number)
  }

  /// Returns the slot of a key, or the free slot where it belongs.
  private func slot(of key: UInt, in blocks: [[Record]]) -> Int {
    var slot = home(key)
    while slots[slot] != 0, self.key(at: slots[slot], in: blocks) != key {
      slot = (slot + 1) & mask
    }
    return slot
  }
}

extension UInt {
  /// A hash value for a table whose size is a power of two; the number can be an address.
  var spread: Int { Int(truncatingIfNeeded: (self &* 0x9E37_79B9_7F4A_7C15) >> 28) }
}
