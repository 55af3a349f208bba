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
    /// The tasks that belong to it, also after code that isn't followed resumes them.
    var tasks: Set<UInt64> = []
  }

  private static let all = Mutex<[Reference]>([])

  private let state = Mutex(State())
  private let idle = DispatchSemaphore(value: 0)
  let reference = Reference()

  init() {
    reference.work = self
    Self.all.withLock { [reference] all in
      all.removeAll { $0.work == nil }
      all.append(reference)
    }
  }

  /// Returns the work to which a task belongs.
  static func all(of task: UInt64) -> [WorkInProgress] {
    all.withLock { $0 }.compactMap(\.work).filter { $0.state.withLock { $0.tasks.contains(task) } }
  }

  /// Notes that a task belongs to it.
  func add(_ task: UInt64) { state.withLock { _ = $0.tasks.insert(task) } }

  /// Counts work that will run.
  func add() { change(count: 1, waiting: 1) }

  /// Notes that work runs now.
  func begin() { change(waiting: -1) }

  func end() { change(count: -1) }

  private func change(count: Int = 0, waiting: Int = 0) {
    let isIdle = state.withLock { state in
      state.count += count
      state.waiting += waiting
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
  /// five seconds: a handler before it blocks its queue. A task that yields until time has passed
  /// makes many thousands of changes; this method blocks for five seconds for it. On a busy machine,
  /// these times are longer.
  func waitUntilIdle() {
    var (first, last, rounds, roundsWithoutChange) = (state.withLock { $0.changes }, -1, 0, 0)
    while true {
      let isIdle = state.withLock { state in
        state.isAwaited = state.count > state.stuck
        return !state.isAwaited
      }
      if isIdle {
        if Jobs.includeMain || !passThroughMainQueue() { return }
        continue
      }
      if idle.wait(timeout: .now() + .milliseconds(100)) == .success { continue }
      Self.passThroughGlobalQueues()
      let isStuck = state.withLock { state in
        rounds += 1
        roundsWithoutChange = state.changes == last ? roundsWithoutChange + 1 : 0
        last = state.changes
        let isStuck =
          roundsWithoutChange >= (state.waiting == 0 ? 10 : 50)
          || rounds >= 50 && state.changes - first > 100_000
        if isStuck { state.stuck = state.count }
        return isStuck
      }
      if isStuck { return }
    }
  }

  /// Blocks until all global queues have served a block, as long as that takes on a busy machine.
  private static func passThroughGlobalQueues() {
    let group = DispatchGroup()
    for quality in [DispatchQoS.QoSClass.userInitiated, .default, .utility, .background] {
      group.enter()
      DispatchQueue.global(qos: quality).async { group.leave() }
    }
    group.wait()
  }

  /// Waits for jobs of the main actor that the runtime hides, for at most a second, and returns
  /// whether something has changed.
  private func passThroughMainQueue() -> Bool {
    let changes = state.withLock { $0.changes }
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.main.async { done.signal() }
    _ = done.wait(timeout: .now() + .seconds(1))
    return state.withLock { $0.changes } != changes
  }
}
