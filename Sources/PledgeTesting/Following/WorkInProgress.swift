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
    /// How much of it hasn't begun to run.
    var waiting = 0
    /// The promises that were passed to `follow`: work that comes for certain, however late.
    var followed = 0
    /// The work that didn't end in time, for which no later wait waits.
    var stuck = 0
    /// Increases with each beginning and end.
    var changes = 0
    var isAwaited = false

    var isIdle: Bool { followed == 0 && count <= stuck }
  }

  private let state = Mutex(State())
  private let idle = DispatchSemaphore(value: 0)
  let reference = Reference()
  /// The newest task at the time of its creation.
  let newestTask = max(Members.newest, Following.currentTask ?? 0)

  init() { reference.work = self }

  /// Counts a promise that is followed, until the returned object is released.
  func follow() -> AnyObject & Sendable { FollowedPromise(self) }

  private final class FollowedPromise: Sendable {
    let work: WorkInProgress
    init(_ work: WorkInProgress) {
      self.work = work
      work.change(followed: 1)
    }
    deinit { work.change(followed: -1) }
  }

  /// Changes the numbers of work, of work that hasn't begun to run, and of promises that are followed.
  func change(count: Int = 0, waiting: Int = 0, followed: Int = 0) {
    let isIdle = state.withLock { state in
      state.count += count
      state.waiting += waiting
      state.followed += followed
      state.changes += 1
      state.stuck = min(state.stuck, state.count)
      guard state.isAwaited, state.isIdle else { return false }
      state.isAwaited = false
      return true
    }
    if isIdle { idle.signal() }
  }

  var isIdle: Bool { state.withLock { $0.isIdle } }

  /// The number of promises that are followed.
  var followedCount: Int { state.withLock { $0.followed } }

  /// Blocks until all work has ended, or what is left of it waits for time to pass, or until
  /// `continues`, which is called every tenth of a second with the number of calls, returns false.
  ///
  /// Work that runs waits if nothing has changed for a second: a handler that blocks its thread until
  /// time has passed, for example, never ends. Work that hasn't begun waits if nothing has changed for
  /// five seconds: a handler before it blocks its queue. On a busy machine, these times are longer. A
  /// task that yields until time has passed makes many thousands of changes; this method blocks for
  /// five seconds for it. Promises that are followed never wait for time to pass.
  func waitUntilIdle(while continues: (_ rounds: Int) -> Bool) {
    let first = state.withLock { $0.changes }
    var (last, rounds, quietRounds) = (first, 0, 0)
    while true {
      let isIdle = state.withLock { state in
        state.isAwaited = !state.isIdle
        return state.isIdle
      }
      if isIdle {
        if Jobs.includeMain || !passThroughMainQueue() { return }
        continue
      }
      if idle.wait(timeout: .now() + .milliseconds(100)) == .success { continue }
      rounds += 1
      guard continues(rounds) else { return }
      if state.withLock({ $0.changes }) == last { Self.passThroughGlobalQueues() }
      state.withLock { state in
        quietRounds = state.changes == last ? quietRounds + 1 : 0
        last = state.changes
        let isQuiet = quietRounds >= (state.waiting == 0 ? 10 : 50)
        if state.followed == 0, isQuiet || rounds >= 50 && last - first > 50_000 {
          state.stuck = state.count
        }
      }
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

/// The tasks that belong to the work of clocks, also after code that isn't followed resumes them.
///
/// A task belongs to the clocks of the code that created it, and to each clock that it uses.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
enum Members {
  private struct State {
    var works: [UInt64: [WorkInProgress.Reference]] = [:]
    /// The number of tasks at which those whose work has been deallocated are removed.
    var limit = 1_000
    var newest: UInt64 = 0
  }

  private static let state = Mutex(State())

  /// The newest task that has been enqueued.
  static var newest: UInt64 { state.withLock { $0.newest } }

  /// Returns the work to which a task belongs that code of `others` starts or resumes; zero is other
  /// code.
  ///
  /// A task that is older than a clock, such as that of the test framework, can't have been started
  /// by the code that uses it.
  static func works(of task: UInt64, startedBy others: [WorkInProgress]) -> [WorkInProgress] {
    if task == 0 { return others }
    let own = state.withLock { $0.works[task] }?.compactMap(\.work) ?? []
    return own + others.filter { work in task > work.newestTask && !own.contains { $0 === work } }
  }

  static func add(_ task: UInt64, to works: [WorkInProgress]) {
    state.withLock { state in
      state.newest = max(state.newest, task)
      if task == 0 || works.isEmpty { return }
      if state.works.count >= state.limit {
        state.works = state.works.filter { $0.value.contains { $0.work != nil } }
        state.limit = max(1_000, 2 * state.works.count)
      }
      for work in works {
        let references = state.works[task]?.filter { $0.work != nil } ?? []
        if references.contains(where: { $0 === work.reference }) { continue }
        state.works[task] = references + [work.reference]
      }
    }
  }
}
