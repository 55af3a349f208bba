/// All pending timers of the continuous clock.
///
/// A timer that is released is removed from the heap immediately. A dedicated thread, which no
/// blocked thread pool can delay, passes the actions of due timers to `Background`, in order.
final class TimerHeap: Sendable {
  static let shared = TimerHeap()

  /// A pending timer, which is cancelled when it is released.
  ///
  /// `@unchecked Sendable`: `index` and `action` are guarded by the heap's mutex.
  final class Timer: @unchecked Sendable {
    /// The deadline, in nanoseconds of `SystemClock`.
    let deadline: Int64
    fileprivate var index = -1
    fileprivate var action: (@Sendable () -> Void)?

    init(deadline: Int64, action: @escaping @Sendable () -> Void) {
      self.deadline = deadline
      self.action = action
      TimerHeap.shared.add(self)
    }

    deinit { cancel() }

    /// Removes the timer from the heap, unless it has fired.
    func cancel() { TimerHeap.shared.remove(self) }
  }

  private struct State: ~Copyable {
    /// Not retained: a timer removes itself before it is deallocated, and the threads that hold the
    /// mutex until then don't retain it.
    var heap: [Unmanaged<Timer>] = []
    var wakeUp: WakeUp?
    var armedFor: Int64?
  }

  private let state = Mutex(State())

  /// The number of pending timers.
  var count: Int { state.withLock { $0.heap.count } }

  private func add(_ timer: Timer) {
    state.withLock { state in
      timer.index = state.heap.count
      state.heap.append(.passUnretained(timer))
      Self.siftUp(&state.heap, from: timer.index)
      // Otherwise, the wake-up is armed for an earlier timer.
      if timer.index == 0 { arm(&state) }
    }
  }

  private func remove(_ timer: Timer) {
    let action: (@Sendable () -> Void)? = state.withLock { state in
      guard timer.index >= 0 else { return nil }
      return Self.take(&state.heap, at: timer.index)
    }
    // The action's captures are released outside the lock.
    withExtendedLifetime(action) {}
  }

  private func fire() {
    let now = SystemClock.now
    var due: [(@Sendable () -> Void)?] = []
    state.withLock { state in
      state.armedFor = nil
      while let first = state.heap.first, first.deadline <= now {
        if let action = Self.take(&state.heap, at: 0) { due.append(action) }
      }
      arm(&state)
    }
    Background.run(&due)
  }

  private func arm(_ state: inout State) {
    guard let deadline = state.heap.first?.deadline else { return }
    if let armed = state.armedFor, armed <= deadline { return }
    let wakeUp = state.wakeUp ?? WakeUp { self.fire() }
    state.wakeUp = wakeUp
    state.armedFor = deadline
    wakeUp.arm(afterNanoseconds: deadline - SystemClock.now)
  }

  // MARK: The heap

  private typealias Entry = Unmanaged<Timer>

  private static func place(_ heap: inout [Entry], _ entry: Entry, at index: Int) {
    heap[index] = entry
    entry._withUnsafeGuaranteedRef { $0.index = index }
  }

  private static func siftUp(_ heap: inout [Entry], from start: Int) {
    var index = start
    let entry = heap[index]
    while index > 0 {
      let parent = (index - 1) / 2
      if heap[parent].deadline <= entry.deadline { break }
      place(&heap, heap[parent], at: index)
      index = parent
    }
    place(&heap, entry, at: index)
  }

  private static func siftDown(_ heap: inout [Entry], from start: Int) {
    var index = start
    let entry = heap[index]
    while true {
      var child = 2 * index + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, heap[child + 1].deadline < heap[child].deadline { child += 1 }
      if entry.deadline <= heap[child].deadline { break }
      place(&heap, heap[child], at: index)
      index = child
    }
    place(&heap, entry, at: index)
  }

  /// Removes the timer at `index` and returns its action.
  private static func take(_ heap: inout [Entry], at index: Int) -> (@Sendable () -> Void)? {
    let action = heap[index]._withUnsafeGuaranteedRef { timer in
      timer.index = -1
      return exchange(&timer.action, with: nil)
    }
    let last = heap.removeLast()
    if index < heap.count {
      place(&heap, last, at: index)
      siftDown(&heap, from: index)
      siftUp(&heap, from: last._withUnsafeGuaranteedRef { $0.index })
    }
    return action
  }
}

extension Unmanaged<TimerHeap.Timer> {
  fileprivate var deadline: Int64 { _withUnsafeGuaranteedRef { $0.deadline } }
}
