import Pledge

/// Finds the promises that were created and released in a series of events.
///
/// Most promises live for a short time, so that this saves most of the work of applying old events.
/// The tables are kept, so that it allocates no memory.
struct ShortLivedPromises {
  /// A promise that is released in the series, in a hash table with open addressing.
  private struct Slot {
    var id: UInt = 0
    var lastRelease = 0
    /// Whether the promise that has the identifier now was created in the series.
    var isSkipped = false
  }

  private var slots: [Slot] = []

  /// Marks the entries of such promises.
  mutating func mark(_ entries: inout [Entry]) {
    let releases = entries.count { $0.event.kind == .released }
    var size = max(64, slots.count)
    while size < releases * 2 { size *= 2 }
    if slots.count == size {
      for index in slots.indices { slots[index] = Slot() }
    } else {
      slots = Array(repeating: Slot(), count: size)
    }
    entries.withUnsafeMutableBufferPointer { entries in
      slots.withUnsafeMutableBufferPointer { Self.mark(entries, $0) }
    }
  }

  private static func mark(
    _ entries: UnsafeMutableBufferPointer<Entry>, _ slots: UnsafeMutableBufferPointer<Slot>
  ) {
    for index in entries.indices where entries[index].event.kind == .released {
      let id = entries[index].event.promise.rawValue
      let slot = find(id, in: slots)
      slots[slot].id = id
      slots[slot].lastRelease = index
    }
    for index in entries.indices {
      let slot = find(entries[index].event.promise.rawValue, in: slots)
      if slots[slot].id != 0 {
        if entries[index].event.createsPromise {
          slots[slot].isSkipped = slots[slot].lastRelease > index
        }
        entries[index].isSkipped = slots[slot].isSkipped
        if entries[index].event.kind == .released { slots[slot].isSkipped = false }
      }
      switch entries[index].event.kind {
      case .attached, .adopted, .observes:
        let other = find(entries[index].event.other, in: slots)
        entries[index].isOtherSkipped = slots[other].isSkipped
      default: break
      }
    }
  }

  /// Returns the slot of a promise, or the free slot where it belongs.
  private static func find(_ id: UInt, in slots: UnsafeMutableBufferPointer<Slot>) -> Int {
    let mask = slots.count - 1
    var slot = id.spread & mask
    while slots[slot].id != id, slots[slot].id != 0 { slot = (slot + 1) & mask }
    return slot
  }
}
