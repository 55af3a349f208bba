import Pledge

/// An executor whose handlers run when the test runs them, on the test's thread.
///
/// ```swift
/// let executor = ManualExecutor()
/// let promise = Promise.value(1).map(on: executor) { $0 + 1 }
/// #expect(promise.isPending)
/// executor.runAll()
/// #expect(promise.currentValue == 2)
/// ```
public final class ManualExecutor: PromiseExecutor {
  private struct State {
    var jobs: [PromiseJob] = []
    var threads: [ThreadID] = []
  }

  private let state = Mutex(State())

  /// Creates an executor with nothing to do.
  public init() {}

  /// Holds `job` until the test runs it.
  public func enqueue(_ job: PromiseJob) { state.withLock { $0.jobs.append(job) } }

  /// How many handlers wait to be run.
  ///
  /// A handler that was cancelled while it waited is still counted; running it does nothing.
  public var count: Int { state.withLock { $0.jobs.count } }

  /// Whether the calling code is run by this executor.
  public var isCurrent: Bool { state.withLock { $0.threads.contains(.current) } }

  /// Runs the handler that has waited longest.
  ///
  /// - Returns: Whether there was one.
  @discardableResult
  public func runNext() -> Bool {
    let next: PromiseJob? = state.withLock { state in
      guard !state.jobs.isEmpty else { return nil }
      state.threads.append(.current)
      return state.jobs.removeFirst()
    }
    guard let next else { return false }
    next.run()
    state.withLock { state in
      guard let last = state.threads.lastIndex(of: .current) else { return }
      state.threads.remove(at: last)
    }
    return true
  }

  /// Runs handlers in order until none is waiting, including those that are enqueued in the
  /// meantime.
  ///
  /// - Returns: How many were run.
  @discardableResult
  public func runAll() -> Int {
    var count = 0
    while runNext() { count += 1 }
    return count
  }

  /// Drops all handlers that wait without running them, as an executor does that shuts down.
  ///
  /// - Returns: How many there were.
  @discardableResult
  public func dropAll() -> Int {
    let dropped = state.withLock { state in
      defer { state.jobs = [] }
      return state.jobs
    }
    return dropped.count
  }
}
