import Foundation
import Pledge

/// The work that follows from code that uses a clock: handlers on the way to their queues, and jobs
/// of tasks and actors.
///
/// Time passes only when it has ended; see `Following`, which counts it.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
final class WorkInProgress: Sendable {
  /// A weak reference.
  ///
  /// `@unchecked Sendable`: written once, by the initializer of its work.
  final class Reference: @unchecked Sendable {
    fileprivate(set) weak var work: WorkInProgress?
  }

  private struct State {
    var count = 0
    /// How much of it hasn't begun to run, or is announced: it doesn't wait for time to pass.
    var waiting = 0
    /// The work that didn't end in time, for which no later wait waits.
    var stuck = 0
    /// Increases with each beginning and end.
    var changes = 0
    var isAwaited = false
    /// The tasks that belong to it.
    var members: Set<UInt64> = []
    /// The priorities that these have had.
    var priorities: Set<UInt8> = []
    /// Whether code that isn't followed has resumed one of its tasks.
    var hasUnseenCode = false
    /// Whether some work didn't end within the limit, because it repeats something in a loop.
    var hasLoop = false
  }

  private let state = Mutex(State())
  private let idle = DispatchSemaphore(value: 0)
  let reference = Reference()

  init() { reference.work = self }

  deinit { Members.remove(state.withLock { $0.members }) }

  /// Notes that a task belongs to this work, and whether code that isn't followed has resumed it.
  func note(_ task: UInt64, _ priority: TaskPriority, isUnseen: Bool) {
    state.withLock { state in
      state.members.insert(task)
      state.priorities.insert(priority.rawValue)
      if isUnseen { state.hasUnseenCode = true }
    }
  }

  /// Counts work that will run.
  func add() {
    state.withLock { state in
      state.count += 1
      state.waiting += 1
      state.changes += 1
    }
  }

  /// Notes that work runs now.
  func begin() {
    state.withLock { state in
      state.waiting -= 1
      state.changes += 1
    }
  }

  func end() {
    let isIdle = state.withLock { state in
      state.count -= 1
      state.changes += 1
      state.stuck = min(state.stuck, state.count)
      guard state.isAwaited, state.count <= state.stuck else { return false }
      state.isAwaited = false
      return true
    }
    if isIdle { idle.signal() }
  }

  var isIdle: Bool { state.withLock { $0.count <= $0.stuck } }

  /// Blocks until all work has ended, or what is left of it waits for time to pass.
  ///
  /// Work that runs waits if nothing has changed for a second: a handler that blocks its thread until
  /// time has passed, for example, never ends. Work that hasn't begun waits if nothing has changed for
  /// five seconds, and then all global queues have served what they contained: an executor holds it. On
  /// a busy machine, it only waits for its turn. A task that yields until time has passed makes many
  /// thousands of changes; this method blocks for five seconds for it, once.
  func waitUntilIdle() {
    let deadline = DispatchTime.now() + .seconds(5)
    let first = state.withLock { $0.changes }
    let preemptions = Self.preemptions
    var changesBefore: Int?
    while true {
      let (now, isIdle) = state.withLock { state in
        state.isAwaited = state.count > state.stuck
        return (state, !state.isAwaited)
      }
      let isLate = DispatchTime.now() > deadline
      let isLoop = now.changes - first > Self.loopLength && (isLate || now.hasLoop)
      if isLoop { state.withLock { $0.hasLoop = true } }
      if isIdle {
        if now.changes == changesBefore || isLoop { return }
        // Another round, if these queues contained work that changed something.
        changesBefore = now.changes
        QueueMark.wait(for: now.priorities)
        // A task that yields after it has called an actor is on a global queue, unseen. If a thread
        // has lost its core, it can be the one that took the task from there.
        if state.withLock({ $0.hasUnseenCode }), Self.preemptions > preemptions {
          wait(milliseconds: 50)
        }
        continue
      }
      if wait(milliseconds: 1_000) { continue }
      if isLate { QueueMark.waitForGlobalExecutor(now.priorities, until: .distantFuture) }
      let isStuck = state.withLock { state in
        if state.changes == now.changes {
          guard isLate || state.waiting == 0 else { return false }
        } else if !isLoop {
          return false
        }
        state.stuck = state.count
        return true
      }
      if isStuck { return }
    }
  }

  /// Blocks until all work has ended, but for a limited time; returns whether it has.
  ///
  /// In ten parts, so that on a busy machine, where this thread waits for a core ten times, threads
  /// that run work have had theirs, too.
  @discardableResult
  private func wait(milliseconds: Int) -> Bool {
    (0..<10).contains { _ in
      idle.wait(timeout: .now() + .milliseconds(milliseconds / 10)) == .success
    }
  }

  /// How often the system has taken a core from a thread of this process.
  private static var preemptions: Int {
    var usage = rusage()
    getrusage(0, &usage)  // `RUSAGE_SELF`, whose type differs between systems.
    return Int(usage.ru_nivcsw)
  }

  /// The number of changes that only a loop makes.
  private static let loopLength = 100_000
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension [WorkInProgress] {
  func add() { for work in self { work.add() } }
  func begin() { for work in self { work.begin() } }
  func end() { for work in self { work.end() } }
}

/// Waits for queues that contain work unseen: the main queue, to which the runtime sends the jobs of
/// the main actor, and those of the global executor, one for each priority.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private final class QueueMark: Sendable {
  private static let main = QueueMark { DispatchQueue.main.async(execute: $0) }

  private static let global = Mutex<[UInt8: QueueMark]>([:])

  private let enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void
  /// Whether the queue didn't reach the last mark in time: all its threads are blocked, or there are
  /// none.
  private let isStuck = Mutex(false)

  private init(_ enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.enqueue = enqueue
  }

  /// Blocks until each queue has begun to run what it contains.
  ///
  /// A queue that doesn't within a second isn't waited for until it does.
  static func wait(for priorities: Set<UInt8>) {
    waitForGlobalExecutor(priorities, until: .now() + .seconds(1))
    main.wait(until: .now() + .seconds(1))
  }

  static func waitForGlobalExecutor(_ priorities: Set<UInt8>, until deadline: DispatchTime) {
    for priority in priorities {
      let mark = global.withLock { global in
        let mark = global[priority] ?? QueueMark(TaskPriority(rawValue: priority))
        global[priority] = mark
        return mark
      }
      mark.wait(until: deadline)
    }
  }

  private convenience init(_ priority: TaskPriority) {
    self.init { body in
      // Jobs that aren't followed are on a queue of the runtime, and others on that of Dispatch.
      let hop: @Sendable () -> Void = {
        DispatchQueue.global(qos: .init(priority)).async(execute: body)
      }
      Following.runUnfollowed { Task.detached(priority: priority, operation: hop) }
    }
  }

  private func wait(until deadline: DispatchTime) {
    if deadline != .distantFuture, isStuck.withLock({ $0 }) { return }
    let done = DispatchSemaphore(value: 0)
    enqueue { [self] in
      isStuck.withLock { isStuck in
        isStuck = false
        done.signal()
      }
    }
    if done.wait(timeout: deadline) == .success { return }
    isStuck.withLock { $0 = done.wait(timeout: .now()) == .timedOut }
  }
}
