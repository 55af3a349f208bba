import Foundation
import Pledge
import PledgeDiagnostics

/// Follows work from the code that starts it to its end.
///
/// On the thread of a simulation, work that is sent to a queue, and jobs of tasks and actors, become
/// steps. Elsewhere, they count as work of the clock that the code that started them has used, and
/// so does what they start themselves. Work of code that uses no clock isn't touched.
///
/// The library passes on its work for queues. For tasks and actors, the concurrency runtime has a
/// hook: a variable that contains a function.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
enum Following {
  /// What a thread runs.
  private final class Thread {
    var steps: StepQueue?
    /// What the code that it runs belongs to; empty outside of followed work.
    var works: [WorkInProgress] = []
    /// The task whose code called `run`.
    var task: UInt64?
  }

  private struct Latest {
    weak var work: WorkInProgress?
  }

  /// The work of the clock that was used last.
  private static let latest = Mutex(Latest())

  /// Marks the main queue, which can be on any thread after `dispatchMain()`.
  private static let mainKey: DispatchSpecificKey<Void> = {
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    return key
  }()

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key) { pointer in
      let pointer: UnsafeMutableRawPointer? = pointer
      pointer.map { Unmanaged<AnyObject>.fromOpaque($0).release() }
    }
    return key
  }()

  private static var existing: Thread? {
    pthread_getspecific(key).map { Unmanaged<Thread>.fromOpaque($0).takeUnretainedValue() }
  }

  private static var thread: Thread {
    if let existing { return existing }
    let thread = Thread()
    pthread_setspecific(key, Unmanaged.passRetained(thread).toOpaque())
    return thread
  }

  /// The steps of the simulation that the current thread runs.
  static var steps: StepQueue? { existing?.steps }

  /// The work to which the calling code belongs: that of its task, or what its thread runs.
  private static var works: [WorkInProgress] {
    let thread = existing
    if let task = currentTask, task != thread?.task {
      let works = Members.works(of: task)
      if !works.isEmpty { return works }
    }
    if let thread, !thread.works.isEmpty { return thread.works }
    // The runtime sends jobs to the main actor unseen.
    guard DispatchQueue.getSpecific(key: mainKey) != nil else { return [] }
    return latest.withLock { $0.work }.map { [$0] } ?? []
  }

  private static var currentTask: UInt64? {
    withUnsafeCurrentTask { $0.map { taskID(of: unsafeBitCast($0, to: UnownedJob.self)) } }
  }

  /// Notes that the calling code uses the clock of `work`, to which its task belongs from now on.
  static func join(_ work: WorkInProgress) {
    if let task = currentTask {
      Members.join(task, work)
    } else if let thread = existing, !thread.works.isEmpty {
      if !thread.works.contains(where: { $0 === work }) { thread.works.append(work) }
    }
  }

  /// Notes that a test uses the clock of `work` now, to which code of the main actor then belongs.
  static func noteUse(of work: WorkInProgress) { latest.withLock { $0.work = work } }

  /// Calls `body`; what it starts belongs to `works`.
  static func run(as works: [WorkInProgress], steps: StepQueue? = nil, _ body: () -> Void) {
    let thread = thread
    let outer = (thread.steps, thread.works, thread.task)
    (thread.steps, thread.works, thread.task) = (steps ?? outer.0, works, currentTask)
    body()
    (thread.steps, thread.works, thread.task) = outer
  }

  /// Calls `body`; what it starts isn't followed.
  static func runUnfollowed(_ body: () -> Void) {
    let thread = thread
    let steps = exchange(&thread.steps, with: nil)
    body()
    thread.steps = steps
  }

  /// Installs the hooks, once.
  static let start: Void = {
    Queues.setFollower { queue, body in
      if let steps, queue !== DispatchQueue.main {
        let line = queue === DispatchQueue.global() ? nil : ObjectIdentifier(queue)
        // On the queue, which can belong to code outside the simulation, too.
        steps.add(queue.label, after: line) { queue.sync(execute: body) }
        return nil
      }
      let works = works
      if works.isEmpty { return body }
      works.add()
      return { perform(for: works, body) }
    }
    Hook.install()
    // A rejection whose last reference a step releases belongs to the simulation.
    Claims.add(first: true) { rejection in
      steps?.note(rejection)
      return steps != nil
    }
  }()

  /// Takes over a job for the global executor; returns whether it does.
  fileprivate static func takeGlobal(_ job: UnownedJob) -> Bool {
    if let steps {
      steps.add("a task", after: nil) {
        job.runSynchronously(on: globalConcurrentExecutor.asUnownedTaskExecutor())
      }
      return true
    }
    let priority = TaskPriority(rawValue: job.priority.rawValue)
    let works = Members.resume(taskID(of: job), priority, by: works)
    if works.isEmpty { return false }
    works.add()
    DispatchQueue.global(qos: .init(priority)).async {
      perform(for: works) { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
    }
    return true
  }

  /// Runs work that was added.
  static func perform(for works: [WorkInProgress], _ body: () -> Void) {
    works.begin()
    run(as: works, body)
    works.end()
  }

  private static let executor = FollowingExecutor()
}

/// Runs jobs of the global executor that are followed, and follows the job of `Task.yield()`, which
/// goes to the executor on which the task runs.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private final class FollowingExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if !Following.takeGlobal(job) { globalConcurrentExecutor.enqueue(job) }
  }
}

/// The number of a task, which no other task gets; zero for other jobs.
@_silgen_name("swift_task_getJobTaskId")
private func taskID(of job: UnownedJob) -> UInt64

/// The tasks that belong to the work of clocks, also after code that isn't followed resumes them.
///
/// A task belongs to the clocks of the code that created it, and to each clock that it uses.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
enum Members {
  private static let members = Mutex<[UInt64: [WorkInProgress.Reference]]>([:])

  static func works(of task: UInt64) -> [WorkInProgress] {
    members.withLock { $0[task] }?.compactMap(\.work) ?? []
  }

  /// Notes that code which belongs to `callers` resumes a task, or creates it, and returns the work
  /// to which its next part belongs.
  static func resume(
    _ task: UInt64, _ priority: TaskPriority, by callers: [WorkInProgress]
  ) -> [WorkInProgress] {
    if task == 0 { return callers }
    let own = works(of: task)
    let works = own.isEmpty ? callers : own
    if works.isEmpty { return [] }
    for work in works { work.note(task, priority, isUnseen: callers.isEmpty) }
    if own.isEmpty { members.withLock { $0[task] = works.map(\.reference) } }
    return works + callers.filter { caller in !works.contains { $0 === caller } }
  }

  /// Notes that a task uses the clock of `work`.
  static func join(_ task: UInt64, _ work: WorkInProgress) {
    work.note(task, Task.currentPriority, isUnseen: false)
    members.withLock { members in
      if members[task]?.contains(where: { $0 === work.reference }) != true {
        members[task, default: []].append(work.reference)
      }
    }
  }

  /// Forgets the tasks of a work that is being deallocated.
  static func remove(_ tasks: Set<UInt64>) {
    members.withLock { members in
      for task in tasks {
        members[task]?.removeAll { $0.work == nil }
        if members[task]?.isEmpty == true { members[task] = nil }
      }
    }
  }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension DispatchQoS.QoSClass {
  /// The class of the threads that run jobs of this priority.
  init(_ priority: TaskPriority) {
    switch priority.rawValue {
    case 25...: self = .userInitiated
    case 21...: self = .default
    case 17...: self = .utility
    default: self = .background
    }
  }
}

/// The hook of the concurrency runtime that receives the jobs for the global executor.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private enum Hook {
  typealias Original = @convention(thin) (UnownedJob) -> Void
  typealias Function = @convention(thin) (UnownedJob, Original) -> Void

  /// The function that another library had installed.
  ///
  /// `nonisolated(unsafe)`: written once, before the hook that reads it is set.
  private nonisolated(unsafe) static var earlier: Function?

  /// Sets the hook, which the runtime reads without a lock, because it's meant to be set once.
  static func install() {
    #if canImport(Darwin)
      let everywhere = UnsafeMutableRawPointer(bitPattern: -2)
    #else
      let everywhere: UnsafeMutableRawPointer? = nil
    #endif
    guard let symbol = dlsym(everywhere, "swift_task_enqueueGlobal_hook") else { return }
    let hook = symbol.assumingMemoryBound(to: Function?.self)
    earlier = hook.pointee
    hook.pointee = { job, original in
      if Following.takeGlobal(job) { return }
      if let earlier = Hook.earlier { earlier(job, original) } else { original(job) }
    }
  }
}
