import CExplorer
import Exploration

/// Tasks and actors, whose jobs are virtual threads: blocks of a concurrent queue, and of the main
/// queue for the main actor.
public enum VirtualTasks {
  private static let pool = VirtualQueue(label: "tasks", isSerial: false, carriesTasks: true)

  /// Takes over all jobs from now on.
  public static func begin() {
    _ = (pool, DispatchQueue.main)
    explorer_take_jobs { job, isMain in
      let address = UInt(bitPattern: job)
      if isMain != 0 {
        DispatchQueue.main.async { VirtualTasks.run(address) }
      } else {
        let priority = unsafeBitCast(job, to: UnownedJob.self).priority.rawValue
        VirtualTasks.pool.async(priority: priority) { VirtualTasks.run(address) }
      }
    }
  }

  private static func run(_ address: UInt) {
    explorer_run_job(UnsafeMutableRawPointer(bitPattern: address))
  }

  /// Cancels a task without being preempted, unless it has to wait.
  ///
  /// The runtime holds a lock of the task while it calls cancellation handlers. The scheduler
  /// doesn't know that lock, so a thread that waited for it would wait forever.
  public static func cancel<Value: Sendable, Failure: Error>(_ task: Task<Value, Failure>) {
    Explorer.uninterrupted { task.cancel() }
  }
}
