/// All pending timers of the continuous clock.
///
/// A timer that is released is removed from the heap immediately. A dedicated thread, which no
/// blocked thread pool can delay, passes the actions of due timers to `Background`, in order.
package final class TimerHeap: Sendable {
  static let shared = TimerHeap()

  /// A pending timer, which is cancelled when it is released.
  ///
  /// `@unchecked Sendable`: `place` and `action` are guarded by the heap's mutex.
  package final class Timer: @unchecked Sendable {
    /// The deadline, in nanoseconds of `SystemClock`.
    let deadline: Int64
    fileprivate var place = -1
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
    var heap = Heap<Unmanaged<Timer>>()
    var wakeUp: WakeUp?
    var armedFor: Int64?
  }

  private let state = Mutex(State())

  /// The number of pending timers.
  var count: Int { state.withLock { $0.heap.count } }

  private func add(_ timer: Timer) {
    state.withLock { state in
      state.heap.insert(.passUnretained(timer))
      // Otherwise, the wake-up is armed for an earlier timer.
      if timer.place == 0 { arm(&state) }
    }
  }

  private func remove(_ timer: Timer) {
    let action = state.withLock { state in
      state.heap.remove(.passUnretained(timer)) ? exchange(&timer.action, with: nil) : nil
    }
    // The action's captures are released outside the lock.
    withExtendedLifetime(action) {}
  }

  private func fire() {
    let now = SystemClock.now
    var due: [(@Sendable () -> Void)?] = []
    state.withLock { state in
      state.armedFor = nil
      while let first = state.heap.first, first.deadline <= now, state.heap.remove(first) {
        due.append(first._withUnsafeGuaranteedRef { exchange(&$0.action, with: nil) })
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
}

extension Unmanaged<TimerHeap.Timer> {
  fileprivate var deadline: Int64 { _withUnsafeGuaranteedRef { $0.deadline } }
}

extension Unmanaged: HeapElement where Instance == TimerHeap.Timer {
  package var place: Int {
    get { _withUnsafeGuaranteedRef { $0.place } }
    nonmutating set { _withUnsafeGuaranteedRef { $0.place = newValue } }
  }

  package func precedes(_ other: Self) -> Bool { deadline < other.deadline }
}
