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

/// Turns the tasks and actor turns that are enqueued on one thread into steps of a simulation.
///
/// An executor preference works only for tasks that this module creates, and not for the tasks and
/// actors of the code under test. The concurrency runtime has a hook for jobs sent to its global
/// executor: a variable that contains a function. The function installed here checks the calling
/// thread. On threads other than those of a simulation, it passes the job on, so it doesn't affect
/// other tests.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
enum TaskCapture {
  private typealias Original = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

  /// The thread-local key for the steps of the simulation that a thread runs.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// The function that another library had installed.
  ///
  /// `nonisolated(unsafe)`: written once, before the hook that reads it is set.
  private nonisolated(unsafe) static var previous: Hook?

  /// Whether the runtime's hook was found; without it, tasks that the code under test creates run
  /// outside the simulation.
  static let isAvailable: Bool = {
    #if canImport(Darwin)
      let everywhere = UnsafeMutableRawPointer(bitPattern: -2)
    #else
      let everywhere: UnsafeMutableRawPointer? = nil
    #endif
    guard let symbol = dlsym(everywhere, "swift_task_enqueueGlobal_hook") else { return false }
    // The runtime reads this variable without a lock, because hooks are meant to be set only once.
    let variable = symbol.assumingMemoryBound(to: Hook?.self)
    previous = variable.pointee
    variable.pointee = { job, original in
      if let steps = TaskCapture.current {
        steps.add("a task", after: nil) {
          job.runSynchronously(on: globalConcurrentExecutor.asUnownedTaskExecutor())
        }
      } else if let previous = TaskCapture.previous {
        previous(job, original)
      } else {
        original(job)
      }
    }
    return true
  }()

  /// Installed once. A rejection whose last reference a step releases belongs to the simulation.
  private static let claim: Void = Claims.add(first: true) { rejection in
    guard let steps = current else { return false }
    steps.note(rejection)
    return true
  }

  /// The steps of the simulation that the current thread runs.
  private static var current: StepQueue? {
    pthread_getspecific(key).map { Unmanaged<StepQueue>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Runs `body`, and turns the jobs that it enqueues on this thread into steps.
  static func capturing(by steps: StepQueue, _ body: () -> Void) {
    claim
    _ = isAvailable
    steps.claim()
    pthread_setspecific(key, Unmanaged.passUnretained(steps).toOpaque())
    body()
    pthread_setspecific(key, nil)
    steps.close()
  }
}
