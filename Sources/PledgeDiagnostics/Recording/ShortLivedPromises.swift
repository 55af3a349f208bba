import Pledge

/// The promises that are created and released in a series of events, which needn't be recorded.
///
/// Most promises live for a short time. Which ones do is only known after their releases, so those
/// of the series are noted first.
struct ShortLivedPromises {
  /// The number of promises in a series for which there is room; others are recorded.
  static let capacity = 16_384

  /// A promise that is released in the series.
  private struct Slot {
    var id: UInt = 0
    var lastRelease: Int64 = 0
    /// Whether the promise that has the identifier now was created in the series.
    var isSkipped = false
  }

  private static let size = capacity * 4

  /// A hash table with open addressing, which is kept, because it takes long to allocate.
  private let slots = UnsafeMutablePointer<Slot>.allocate(capacity: size)
  private var count = -1

  mutating func removeAll() {
    if count != 0 { slots.initialize(repeating: Slot(), count: Self.size) }
    count = 0
  }

  /// Notes a release, before the series is read again in the order of its times.
  mutating func note(release event: Event) {
    let slot = slot(of: event.promise.rawValue)
    if slot.pointee.id == 0 {
      guard count < Self.size / 2 else { return }
      count += 1
      slot.pointee.id = event.promise.rawValue
    }
    slot.pointee.lastRelease = max(slot.pointee.lastRelease, event.time)
  }

  /// Returns whether an event concerns such a promise.
  func skips(_ event: Event) -> Bool {
    if count == 0 { return false }
    let slot = slot(of: event.promise.rawValue)
    if slot.pointee.id == 0 { return false }
    if event.flags.contains(.isFirst) {
      // One that is released at the same moment could be the one that had the identifier before.
      slot.pointee.isSkipped = slot.pointee.lastRelease > event.time
    }
    return event.kind == .released
      ? exchange(&slot.pointee.isSkipped, with: false) : slot.pointee.isSkipped
  }

  /// Returns whether an event's other promise is such a promise.
  func skipsOther(of event: Event) -> Bool {
    count > 0 && slot(of: event.other).pointee.isSkipped
  }

  private func slot(of id: UInt) -> UnsafeMutablePointer<Slot> {
    var index = Int(truncatingIfNeeded: (id &* 0x9E37_79B9_7F4A_7C15) >> 28) & (Self.size - 1)
    while slots[index].id != id, slots[index].id != 0 { index = (index + 1) & (Self.size - 1) }
    return slots + index
  }
}
