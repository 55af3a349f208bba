import Foundation
import Pledge

#if os(Linux) && compiler(>=6.3) && compiler(<6.4)
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
#endif

/// Receives the jobs of tasks and actors from the concurrency runtime.
///
/// It replaces the process's default executor where the toolchain lets it; elsewhere it sets the
/// runtime's hook for the global executor, which doesn't receive all jobs of `Task.yield()`. It
/// replaces the main actor's executor by a hook, too.
///
/// The runtime reads these variables without a lock. A thread that reads the default executor while
/// it is replaced can see the old object with the functions of the new one, or the reverse: both
/// objects are never deallocated, and their functions don't use them.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
enum Jobs {
  fileprivate static let global = GlobalJobs()
  fileprivate static let main = MainJobs()
  /// Whether it receives the jobs of the main actor.
  nonisolated(unsafe) private(set) static var includeMain = false

  private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
  private typealias EnqueueHook = @convention(thin) (UnownedJob, Enqueue) -> Void
  private typealias Executor = @convention(thin) () -> UnownedSerialExecutor
  private typealias ExecutorHook = @convention(thin) (Executor) -> UnownedSerialExecutor

  static func start() {
    #if os(Linux) && compiler(>=6.3) && compiler(<6.4)
      _createExecutors(factory: Factory.self)
    #else
      if let hook = variable("swift_task_enqueueGlobal_hook") {
        hook.assumingMemoryBound(to: EnqueueHook?.self).pointee = { job, _ in
          Jobs.global.send(job)
        }
      }
    #endif
    if let hook = variable("swift_task_getMainExecutor_hook") {
      hook.assumingMemoryBound(to: ExecutorHook?.self).pointee = { _ in
        Jobs.main.asUnownedSerialExecutor()
      }
      includeMain = true
    }
  }

  /// Returns the address of a variable of the runtime.
  private static func variable(_ name: String) -> UnsafeMutableRawPointer? {
    #if canImport(Darwin)
      dlsym(UnsafeMutableRawPointer(bitPattern: -2), name)
    #else
      dlsym(nil, name)
    #endif
  }
}

/// Runs the jobs for the global executor.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private final class GlobalJobs: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) { send(UnownedJob(job)) }

  func send(_ job: UnownedJob) {
    let run: @Sendable () -> Void = {
      job.runSynchronously(on: Jobs.global.asUnownedTaskExecutor())
    }
    if let steps = Following.steps { return steps.add("a task", after: nil, run) }
    DispatchQueue.global(qos: .init(job.priority)).async(execute: Following.follow(job, run))
  }
}

/// Runs the jobs of the main actor.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private final class MainJobs: SerialExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    DispatchQueue.main.async(
      execute: Following.follow(job) { job.runSynchronously(on: self.asUnownedSerialExecutor()) })
  }

  func checkIsolated() { dispatchPrecondition(condition: .onQueue(.main)) }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  func isIsolatingCurrentContext() -> Bool? { ExecutorProbe.main.isCurrent }
}

#if os(Linux) && compiler(>=6.3) && compiler(<6.4)
  private struct Factory: ExecutorFactory {
    static var mainExecutor: any MainExecutor { MainActor.executor }
    static var defaultExecutor: any TaskExecutor { Jobs.global }
  }

  extension GlobalJobs: SchedulingExecutor {
    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
    ) {
      guard let platform = PlatformExecutorFactory.defaultExecutor as? any SchedulingExecutor else {
        preconditionFailure("The platform's executor can't wait.")
      }
      platform.enqueue(job, at: instant, tolerance: tolerance, clock: clock)
    }
  }
#endif

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
