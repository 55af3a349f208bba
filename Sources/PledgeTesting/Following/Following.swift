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
    /// What the work that it runs now belongs to; nil outside of followed work.
    var work: WorkInProgress?
    var isMain = false
  }

  private struct Latest {
    weak var work: WorkInProgress?
  }

  /// The work of the clock that was used last.
  private static let latest = Mutex(Latest())

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

  /// The work to which the calling code belongs.
  static var work: WorkInProgress? {
    let thread = existing
    if let work = thread?.work { return work }
    if let task = currentTask, let work = Members.work(of: task) { return work }
    // The runtime sends jobs to the main actor unseen.
    return thread?.isMain == true ? latest.withLock { $0.work } : nil
  }

  /// The address of the current task, which is that of its jobs.
  private static var currentTask: UnownedJob.Address? {
    withUnsafeCurrentTask { $0.map { unsafeBitCast($0, to: UnownedJob.Address.self) } }
  }

  /// Notes that the calling code uses the clock of `work`, to which it belongs from now on.
  static func join(_ work: WorkInProgress) {
    if let thread = existing, thread.work != nil { thread.work = work }
    if let task = currentTask { Members.add(task, to: work) }
  }

  /// Notes that a test uses the clock of `work` now, to which code of the main actor then belongs.
  static func noteUse(of work: WorkInProgress) { latest.withLock { $0.work = work } }

  /// Calls `body`; what it starts belongs to `work`.
  static func run(as work: WorkInProgress?, steps: StepQueue? = nil, _ body: () -> Void) {
    let thread = thread
    let outer = (thread.steps, thread.work)
    (thread.steps, thread.work) = (steps ?? outer.0, work)
    body()
    (thread.steps, thread.work) = outer
  }

  /// Notes that the current thread is the main thread.
  static func noteMainThread() { thread.isMain = true }

  /// Installs the hooks, once.
  static let start: Void = {
    Queues.setFollower { queue, body in
      if let steps, queue !== DispatchQueue.main {
        let line = queue === DispatchQueue.global() ? nil : ObjectIdentifier(queue)
        // On the queue, which can belong to code outside the simulation, too.
        steps.add(queue.label, after: line) { queue.sync(execute: body) }
        return nil
      }
      guard let work else { return body }
      work.add()
      return { perform(for: work, body) }
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
    } else if let work = work ?? Members.work(of: job.address) {
      work.add()
      Members.add(job.address, to: work)
      DispatchQueue.global(qos: .init(job.priority)).async {
        perform(for: work) { job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
      }
    } else {
      return false
    }
    return true
  }

  /// Runs work that was added.
  static func perform(for work: WorkInProgress, _ body: () -> Void) {
    work.begin()
    run(as: work, body)
    work.end()
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

/// The tasks that belong to the work of clocks, also after code that isn't followed resumes them.
///
/// A task is identified by the address of its job. An address can be used again; that a foreign task
/// is followed is harmless.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
enum Members {
  /// A class, because a struct with a weak reference and another field isn't copied correctly inside
  /// an optional (Swift 6.3).
  ///
  /// `@unchecked Sendable`: written once, in the initializer.
  private final class Member: @unchecked Sendable {
    private(set) weak var work: WorkInProgress?
    /// The identity of `work`, which can be compared without a reference that could be the last.
    let id: ObjectIdentifier

    init(_ work: WorkInProgress) {
      self.work = work
      id = ObjectIdentifier(work)
    }
  }

  private static let members = Mutex<[UnownedJob.Address: Member]>([:])

  static func add(_ task: UnownedJob.Address, to work: WorkInProgress) {
    members.withLock { $0[task] = Member(work) }
    work.add(task)
  }

  static func work(of task: UnownedJob.Address) -> WorkInProgress? {
    members.withLock { $0[task]?.work }
  }

  /// Removes the tasks of a work that is being deallocated.
  static func remove(_ tasks: Set<UnownedJob.Address>, of id: ObjectIdentifier) {
    members.withLock { members in
      for task in tasks where members[task]?.id == id { members[task] = nil }
    }
  }
}

extension UnownedJob {
  typealias Address = UInt

  /// The address of the job, which is its only field.
  var address: Address { unsafeBitCast(self, to: UInt.self) }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension DispatchQoS.QoSClass {
  /// The class of the threads that run jobs of this priority.
  fileprivate init(_ priority: JobPriority) {
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
