/// One call of `TestClock.sleep`, or one timer of a promise.
///
/// `@unchecked Sendable`: the variables are guarded by the clock's mutex.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class Sleeper: @unchecked Sendable {
  typealias End = @Sendable (_ isDue: Bool) -> Void

  let deadline: TestClock.Instant
  let isTimer: Bool
  /// The closure to call, once, when the deadline passes, or when the sleep is cancelled.
  var end: End?
  var isCancelled = false
  /// Its sequence number among the clock's sleepers, and its index in the heap; the index is nil
  /// outside the heap.
  fileprivate var order = 0
  fileprivate var index: Int?

  init(deadline: TestClock.Instant, isTimer: Bool) {
    self.deadline = deadline
    self.isTimer = isTimer
  }

  fileprivate func isDue(before other: Sleeper) -> Bool {
    deadline == other.deadline ? order < other.order : deadline < other.deadline
  }
}

/// The sleepers of a clock: a binary heap, ordered by deadline and then by order of insertion.
///
/// Each sleeper stores its index, so removing one also takes O(log n).
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct SleeperQueue {
  private var heap: [Sleeper] = []
  private var nextOrder = 0

  var count: Int { heap.count }
  var first: Sleeper? { heap.first }

  /// The sleepers with the earliest deadline, in the order in which they were inserted.
  ///
  /// - Complexity: O(n log n).
  var due: [Sleeper] {
    heap.filter { $0.deadline == heap.first?.deadline }.sorted { $0.order < $1.order }
  }

  mutating func insert(_ sleeper: Sleeper) {
    sleeper.order = nextOrder
    nextOrder += 1
    sleeper.index = heap.count
    heap.append(sleeper)
    siftUp(from: heap.count - 1)
  }

  /// Removes a sleeper if it's in the queue.
  mutating func remove(_ sleeper: Sleeper) {
    guard let index = sleeper.index else { return }
    exchange(index, heap.count - 1)
    heap.removeLast()
    sleeper.index = nil
    guard index < heap.count else { return }
    siftDown(from: index)
    siftUp(from: index)
  }

  /// Removes and returns all sleepers.
  mutating func removeAll() -> [Sleeper] {
    defer { heap = [] }
    for sleeper in heap { sleeper.index = nil }
    return heap
  }

  private mutating func exchange(_ first: Int, _ second: Int) {
    heap.swapAt(first, second)
    heap[first].index = first
    heap[second].index = second
  }

  private mutating func siftUp(from index: Int) {
    var index = index
    while index > 0, heap[index].isDue(before: heap[(index - 1) / 2]) {
      exchange(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  private mutating func siftDown(from index: Int) {
    var index = index
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < heap.count {
        if heap[child].isDue(before: heap[least]) { least = child }
      }
      if least == index { return }
      exchange(index, least)
      index = least
    }
  }
}
