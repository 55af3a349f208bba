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
    let size = max(64, (releases * 2).nextPowerOf2)
    if slots.count < size {
      slots = Array(repeating: Slot(), count: size)
    } else {
      for index in slots.indices { slots[index] = Slot() }
    }
    for index in entries.indices where entries[index].event.kind == .released {
      let id = entries[index].event.promise.rawValue
      let slot = self.slot(id)
      slots[slot].id = id
      slots[slot].lastRelease = index
    }
    for index in entries.indices {
      let event = entries[index].event
      let slot = self.slot(event.promise.rawValue)
      if slots[slot].id != 0 {
        if event.createsPromise { slots[slot].isSkipped = slots[slot].lastRelease > index }
        entries[index].isSkipped = slots[slot].isSkipped
        if event.kind == .released { slots[slot].isSkipped = false }
      }
      switch event.kind {
      case .attached, .adopted, .observes:
        entries[index].isOtherSkipped = slots[self.slot(event.other)].isSkipped
      default: break
      }
    }
  }

  /// Returns the slot of a promise, or the free slot where it belongs.
  private func slot(_ id: UInt) -> Int {
    let mask = slots.count - 1
    // Objects are aligned to 16 bytes.
    var slot = Int(truncatingIfNeeded: (id >> 4) &* 0x9E37_79B9_7F4A_7C15 >> 20) & mask
    while slots[slot].id != id, slots[slot].id != 0 { slot = (slot + 1) & mask }
    return slot
  }
}

extension Int {
  fileprivate var nextPowerOf2: Int { 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
