import Dispatch

/// Runs work of the library that no thread of the program is there for: the actions of timers that
/// are due, and what the callbacks of system services settle.
///
/// Work starts in the order in which it was added. It settles promises, and so can run user code
/// that blocks. A piece of work that has run for 8 ms therefore doesn't delay those that wait:
/// another thread starts to run them.
package enum Background {
  private struct State {
    /// The waiting work.
    var work = Fifo<@Sendable () -> Void>()
    /// The number of pieces of work that were started, to detect that a thread is blocked.
    var startCount = 0
    /// `startCount` when the watch was armed; nil if it isn't.
    var watchedCount: Int?
    /// The number of threads that run work.
    var runners = 0
    /// Queues whose threads have run out of work.
    var idle: [DispatchQueue] = []
  }

  private static let state = Mutex(State())
  private static let wakeUp = WakeUp { lookForBlockedThreads() }
  private static let patience: Int64 = 8_000_000

  /// Adds `work`, which can settle promises.
  package static func run(_ work: consuming @escaping @Sendable () -> Void) {
    var all: [(@Sendable () -> Void)?] = [consume work]
    run(&all)
  }

  /// Adds pieces of work in order, and takes them out of `work`.
  ///
  /// They are moved, so that the calling thread, such as that of the timers, never holds the last
  /// reference to something of the user's.
  static func run(_ work: inout [(@Sendable () -> Void)?]) {
    if work.isEmpty { return }
    let starts = state.withLock { state in
      state.work.append(contentsOf: exchange(&work, with: []))
      if state.runners > 0 {
        watch(&state)
        return false
      }
      state.runners = 1
      return true
    }
    if starts { startRunner() }
  }

  /// Arms the watch if work waits.
  private static func watch(_ state: inout State) {
    if state.watchedCount != nil || state.work.isEmpty { return }
    state.watchedCount = state.startCount
    wakeUp.arm(afterNanoseconds: patience)
  }

  private static func lookForBlockedThreads() {
    let isBlocked = state.withLock { state in
      let isBlocked = state.watchedCount == state.startCount && !state.work.isEmpty
      if isBlocked { state.runners += 1 }
      state.watchedCount = nil
      watch(&state)
      return isBlocked
    }
    if isBlocked { startRunner() }
  }

  private static func startRunner() {
    // A serial queue has a thread even if all threads of the global queue are blocked.
    let queue = state.withLock { $0.idle.popLast() } ?? Queues.serial(label: "Pledge.background")
    Queues.async(on: queue) {
      while let work = nextWork(of: queue) { work() }
    }
  }

  private static func nextWork(of queue: DispatchQueue) -> (@Sendable () -> Void)? {
    state.withLock { state in
      let work = state.work.removeFirst()
      if work == nil {
        state.runners -= 1
        if state.idle.count < 4 { state.idle.append(queue) }
      } else {
        state.startCount &+= 1
        watch(&state)
      }
      return work
    }
  }
}
