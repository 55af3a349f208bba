import Foundation
import Pledge
import PledgeDiagnostics

/// Follows work from the code that starts it to its end.
///
/// On the thread of a simulation, work that is sent to a queue, and jobs of tasks and actors, become
/// steps, except for those of the main actor. Elsewhere, they count as work of the clocks to which the code that starts them belongs,
/// and so does what they start themselves.
///
/// The library passes on its work for queues, and the concurrency runtime all jobs; see `Jobs`.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
enum Following {
  /// What a thread runs.
  private final class Context {
    let steps: StepQueue?
    /// What the code belongs to.
    var works: [WorkInProgress]

    init(_ works: [WorkInProgress], _ steps: StepQueue?) {
      (self.works, self.steps) = (works, steps)
    }
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  private static var context: Context? {
    get { pthread_getspecific(key).map { Unmanaged.fromOpaque($0).takeUnretainedValue() } }
    set { pthread_setspecific(key, newValue.map { Unmanaged.passUnretained($0).toOpaque() }) }
  }

  /// What code on the main thread belongs to that isn't in a job, such as a synchronous test: the
  /// clock that such code has used last.
  private static let main = Mutex<WorkInProgress.Reference?>(nil)

  /// The steps of the simulation that the current thread runs.
  static var steps: StepQueue? { context?.steps }

  /// The work to which the calling code belongs.
  private static var works: [WorkInProgress] {
    let others =
      context?.works
      ?? (ExecutorProbe.main.isCurrent ? main.withLock { $0?.work }.map { [$0] } : nil)
    return Members.works(of: currentTask ?? 0, startedBy: others ?? [])
  }

  static var currentTask: UInt64? {
    withUnsafeCurrentTask { $0.map { taskID(of: unsafeBitCast($0, to: UnownedJob.self)) } }
  }

  /// Notes that the calling code uses the clock of `work`, to which its task belongs from now on.
  static func join(_ work: WorkInProgress) {
    if let task = currentTask { Members.add(task, to: [work]) }
    if let context {
      if !context.works.contains(where: { $0 === work }) { context.works.append(work) }
    } else if ExecutorProbe.main.isCurrent {
      main.withLock { $0 = work.reference }
    }
  }

  /// Calls `body`; what it starts belongs to `works`.
  static func run(as works: [WorkInProgress], steps: StepQueue? = nil, _ body: () -> Void) {
    let outer = context
    let inner = Context(works, steps ?? outer?.steps)
    context = inner
    body()
    context = outer
    withExtendedLifetime(inner) {}
  }

  /// Returns `body` as work that counts until it has ended, for the clocks to which the calling code
  /// belongs, and those of the task whose job it is.
  static func follow(
    _ job: UnownedJob? = nil, _ body: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    // In a simulation, all other work is a step.
    steps?.noteWorkFromOutside()
    var works = works
    if let job {
      let task = taskID(of: job)
      works = Members.works(of: task, startedBy: works)
      Members.add(task, to: works)
    }
    for work in works { work.change(count: 1, waiting: 1) }
    return { [works] in
      for work in works { work.change(waiting: -1) }
      run(as: works, body)
      for work in works { work.change(count: -1) }
    }
  }

  /// Starts to follow, once.
  static let start: Void = {
    Queues.setFollower { queue, flags, body in
      guard let steps, queue.label != DispatchQueue.main.label else { return follow(nil, body) }
      let line = Queues.isGlobal(queue) ? nil : ObjectIdentifier(queue)
      // On the queue, which can belong to code outside the simulation, too.
      steps.add(queue.label, after: line) { [flags = flags.rawValue] in
        queue.sync(flags: .init(rawValue: flags)) { Queues.withSingleJobs(on: queue, body) }
      }
      return nil
    }
    Jobs.start()
    BlockingPlaces.add { steps == nil ? nil : "in a step of an exploration" }
    // A rejection whose last reference a step releases belongs to the simulation.
    Claims.add(first: true) { rejection in
      steps?.note(rejection)
      return steps != nil
    }
  }()
}

/// The number of a task, which no other task gets; zero for other jobs.
@_silgen_name("swift_task_getJobTaskId")
private func taskID(of job: UnownedJob) -> UInt64
