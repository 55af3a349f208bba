/// One call of `TestClock.sleep`, or one timer of a promise.
///
/// `@unchecked Sendable`: all that changes is guarded by the mutex of the clock.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class Sleeper: @unchecked Sendable {
  typealias Continuation = CheckedContinuation<Void, any Error>

  let deadline: TestClock.Instant
  var continuation: Continuation?
  /// What a timer calls, in place of a task to resume.
  var action: (@Sendable () -> Void)?
  var isCancelled = false
  /// Its number among the sleepers of its clock, and its place in the heap; nil outside.
  fileprivate var order = 0
  fileprivate var index: Int?

  init(deadline: TestClock.Instant) { self.deadline = deadline }

  fileprivate func isDue(before other: Sleeper) -> Bool {
    deadline == other.deadline ? order < other.order : deadline < other.deadline
  }
}

/// The sleepers of a clock: a binary heap in the order of their deadlines, and among equal ones in
/// the order in which they came.
///
/// Each sleeper knows its place, so that removing one takes O(log n) as well.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
struct SleeperQueue {
  private var heap: [Sleeper] = []
  private var nextOrder = 0

  var count: Int { heap.count }
  var first: Sleeper? { heap.first }

  /// The sleepers with the earliest deadline, in the order in which they came.
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

  /// Does nothing if the sleeper is not in the queue.
  mutating func remove(_ sleeper: Sleeper) {
    guard let index = sleeper.index else { return }
    exchange(index, heap.count - 1)
    heap.removeLast()
    sleeper.index = nil
    guard index < heap.count else { return }
    siftDown(from: index)
    siftUp(from: index)
  }

  /// Empties the queue.
  ///
  /// - Returns: The continuations of those that were in it.
  mutating func removeAll() -> [Sleeper.Continuation] {
    defer { heap = [] }
    return heap.compactMap { sleeper in
      sleeper.index = nil
      defer { sleeper.continuation = nil }
      return sleeper.continuation
    }
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
