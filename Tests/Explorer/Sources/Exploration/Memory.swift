import CExplorer

/// Determines which older values a load can return, according to the C++ memory model.
///
/// For each atomic value, all stores of the run are kept, in order. A load can return the latest
/// one, or an older one unless the thread knows about a later one: because it has read or written
/// that itself, or through a chain of releasing writes and acquiring reads. Updates, sequentially
/// consistent loads, and failed exchanges see the latest value.
package enum Memory {
  private typealias Clock = [Int32]

  private struct Store {
    var value: UInt64
    var thread: Int
    var time: Int32
    /// What a thread that acquires this value knows afterward.
    var released: Clock?
  }

  private struct Place {
    var stores: [Store]
    /// The index of the oldest store that each thread may still read.
    var floors: [Int]
  }

  nonisolated(unsafe) private static var places: [UInt: Place] = [:]
  nonisolated(unsafe) private static var clocks: [Clock] = []
  /// What each thread has read without acquiring it, for a fence to acquire.
  nonisolated(unsafe) private static var unacquired: [Clock] = []
  nonisolated(unsafe) private static var releases: [UInt: Clock] = [:]

  private static let zero = Clock(repeating: 0, count: maximumThreads)

  static func reset() {
    guard Scheduler.hasStaleLoads else { return }
    places.removeAll(keepingCapacity: true)
    releases.removeAll(keepingCapacity: true)
    clocks = [Clock](repeating: zero, count: maximumThreads)
    unacquired = clocks
  }

  /// Returns the result of a load, given the latest value.
  package static func load(
    _ address: UInt, latest: UInt64, acquires: Bool, isSequential: Bool
  ) -> UInt64 {
    let current = Int(explorer_self())
    guard current >= 0, var place = places[address] else { return latest }
    var floor = place.floors[current]
    let last = place.stores.count - 1
    for index in stride(from: last, to: floor, by: -1) {
      let store = place.stores[index]
      if store.time <= clocks[current][store.thread] {
        floor = index
        break
      }
    }
    var index = last
    if floor < last, !isSequential {
      let age = Scheduler.strategy.chooseAge(last - floor + 1)
      index -= age
      if Scheduler.stepCount > 0 { Scheduler.steps[Scheduler.stepCount - 1].age = age }
      // The thread hasn't seen the latest value, and must see it before it waits for another write.
      if age > 0 { Scheduler.threads[current].seenWrites = -1 }
    }
    place.floors[current] = index
    places[address] = place
    let store = place.stores[index]
    if let released = store.released { learn(released, current, acquires) }
    return store.value
  }

  private static func learn(_ released: Clock, _ thread: Int, _ acquires: Bool) {
    if acquires { join(&clocks[thread], released) } else { join(&unacquired[thread], released) }
  }

  /// Must be called after `value` has replaced `old`.
  package static func store(
    _ address: UInt, old: UInt64, value: UInt64, releases: Bool, acquires: Bool, isUpdate: Bool
  ) {
    let current = Int(explorer_self())
    guard current >= 0 else { return }
    var place =
      places[address]
      ?? Place(
        stores: [Store(value: old, thread: current, time: 0, released: nil)],
        floors: [Int](repeating: 0, count: maximumThreads))
    let previous = place.stores.last?.released
    if isUpdate, let previous { learn(previous, current, acquires) }
    clocks[current][current] += 1
    var released = releases ? clocks[current] : nil
    if isUpdate, let previous {
      // An update continues the release sequence of the store that it replaces.
      var both = released ?? previous
      join(&both, previous)
      released = both
    }
    place.stores.append(
      Store(value: value, thread: current, time: clocks[current][current], released: released))
    place.floors[current] = place.stores.count - 1
    places[address] = place
  }

  /// Makes the loads of `thread`, which has found nothing new, return the latest values, because a
  /// store becomes visible in finite time.
  static func catchUp(_ thread: Int) {
    guard Scheduler.hasStaleLoads else { return }
    for address in places.keys {
      let last = places[address].map { $0.stores.count - 1 } ?? 0
      places[address]?.floors[thread] = last
    }
  }

  /// Must be called for an acquire fence.
  package static func fence() {
    let current = Int(explorer_self())
    guard Scheduler.hasStaleLoads, current >= 0 else { return }
    join(&clocks[current], unacquired[current])
  }

  // MARK: - Order that doesn't come from atomic values

  static func acquire(_ address: UInt, by thread: Int) {
    guard Scheduler.hasStaleLoads, let clock = releases[address] else { return }
    join(&clocks[thread], clock)
  }

  static func release(_ address: UInt, by thread: Int) {
    guard Scheduler.hasStaleLoads else { return }
    var clock = releases[address] ?? zero
    join(&clock, clocks[thread])
    releases[address] = clock
  }

  static func joinAll() {
    let current = Int(explorer_self())
    guard Scheduler.hasStaleLoads, current >= 0 else { return }
    for clock in clocks { join(&clocks[current], clock) }
  }

  static func fork(_ child: Int, by parent: Int) {
    guard Scheduler.hasStaleLoads else { return }
    join(&clocks[child], clocks[parent])
  }

  static func join(_ later: Int, _ earlier: Int) {
    guard Scheduler.hasStaleLoads else { return }
    join(&clocks[later], clocks[earlier])
  }

  private static func join(_ clock: inout Clock, _ other: Clock) {
    for index in clock.indices where other[index] > clock[index] { clock[index] = other[index] }
  }
}
