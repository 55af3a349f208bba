import Dispatch
import Pledge
import PledgeDiagnostics

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Follows work from the code that starts it to its end.
///
/// On the thread of a simulation, work that is sent to a queue, and jobs of tasks and actors, become
/// steps. Elsewhere, they count as work of the clock that the code that started them has used, and
/// so does what they start themselves. Work of code that uses no clock isn't touched.
///
/// The library passes on its work for queues. For tasks and actors, the concurrency runtime has
/// hooks: variables that contain functions.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
enum Following {
  /// What a thread runs.
  private final class Thread {
    var steps: StepQueue?
    weak var work: WorkInProgress?
    /// Whether it runs followed work, until whose end `work` is valid.
    var isInside = false
    /// Otherwise, the task for which `work` is valid.
    var task: Int?
  }

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

  private static var task: Int? { withUnsafeCurrentTask { $0?.hashValue } }

  /// The steps of the simulation that the current thread runs.
  static var steps: StepQueue? { existing?.steps }

  /// The work to which the calling code belongs.
  static var work: WorkInProgress? {
    guard let thread = existing, let work = thread.work else { return nil }
    return thread.isInside || thread.task != nil && thread.task == task ? work : nil
  }

  /// Notes that the calling code uses the clock of `work`, to which it belongs from now on.
  static func join(_ work: WorkInProgress) {
    let thread = thread
    if !thread.isInside {
      guard let task else { return }
      thread.task = task
    }
    if thread.work !== work { thread.work = work }
  }

  /// Calls `body`; what it starts belongs to `work`.
  static func run(as work: WorkInProgress?, steps: StepQueue? = nil, _ body: () -> Void) {
    let thread = thread
    let outer = (thread.steps, thread.work, thread.isInside)
    (thread.steps, thread.work, thread.isInside) = (steps ?? outer.0, work, true)
    body()
    (thread.steps, thread.work, thread.isInside) = outer
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
      guard let work else { return body }
      work.begin(onMain: queue === DispatchQueue.main)
      return {
        run(as: work, body)
        work.end()
      }
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
      steps.add("a task", after: nil) { executor.perform(job) }
    } else if let work = work ?? Members.work(of: job) {
      work.begin()
      Members.add(job, to: work)
      DispatchQueue.global(qos: .init(job.priority)).async {
        run(as: work) { executor.perform(job) }
        work.end()
      }
    } else {
      return false
    }
    return true
  }

  /// Takes over a job for the main actor; returns whether it does.
  fileprivate static func takeMain(_ job: UnownedJob) -> Bool {
    guard let work = work ?? Members.work(of: job) else { return false }
    work.begin(onMain: true)
    Members.add(job, to: work)
    DispatchQueue.main.async {
      run(as: work) { job.runSynchronously(on: MainActor.sharedUnownedExecutor) }
      work.end()
    }
    return true
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

  func perform(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}

/// The tasks that belong to the work of clocks, also after code that isn't followed resumes them.
///
/// A task is identified by the address of its job. An address can be used again; that a foreign task
/// is followed is harmless.
enum Members {
  private struct Member {
    weak var work: WorkInProgress?
  }

  private static let members = Mutex<[UnownedJob.Address: Member]>([:])

  static func add(_ job: UnownedJob, to work: WorkInProgress) {
    members.withLock { $0[job.address] = Member(work: work) }
    work.add(job.address)
  }

  static func work(of job: UnownedJob) -> WorkInProgress? {
    members.withLock { $0[job.address]?.work }
  }

  static func remove(_ addresses: Set<UnownedJob.Address>) {
    members.withLock { members in
      for address in addresses where members[address]?.work == nil { members[address] = nil }
    }
  }
}

extension UnownedJob {
  typealias Address = UInt

  /// The address of the job, which is its only field.
  var address: Address { unsafeBitCast(self, to: UInt.self) }
}

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

/// The hooks of the concurrency runtime, which receive the jobs for an executor.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private enum Hook {
  typealias Original = @convention(thin) (UnownedJob) -> Void
  typealias Function = @convention(thin) (UnownedJob, Original) -> Void

  /// The functions that another library had installed.
  ///
  /// `nonisolated(unsafe)`: written once, before the hooks that read them are set.
  private nonisolated(unsafe) static var earlierGlobal: Function?
  private nonisolated(unsafe) static var earlierMain: Function?

  /// Sets the hooks. The runtime reads them without a lock, because they are meant to be set once.
  static func install() {
    if let hook = hook("swift_task_enqueueGlobal_hook") {
      earlierGlobal = hook.pointee
      hook.pointee = { job, original in
        if Following.takeGlobal(job) { return }
        if let earlier = Hook.earlierGlobal { earlier(job, original) } else { original(job) }
      }
    }
    if let hook = hook("swift_task_enqueueMainExecutor_hook") {
      earlierMain = hook.pointee
      hook.pointee = { job, original in
        if Following.takeMain(job) { return }
        if let earlier = Hook.earlierMain { earlier(job, original) } else { original(job) }
      }
    }
  }

  private static func hook(_ name: String) -> UnsafeMutablePointer<Function?>? {
    #if canImport(Darwin)
      let everywhere = UnsafeMutableRawPointer(bitPattern: -2)
    #else
      let everywhere: UnsafeMutableRawPointer? = nil
    #endif
    return dlsym(everywhere, name)?.assumingMemoryBound(to: Function?.self)
  }
}
