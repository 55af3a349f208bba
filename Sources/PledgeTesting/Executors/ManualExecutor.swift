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

  /// Creates an executor without handlers.
  public init() {}

  /// Holds `job` until the test runs it.
  public func enqueue(_ job: PromiseJob) { state.withLock { $0.jobs.append(job) } }

  /// The number of waiting handlers.
  ///
  /// A handler that was cancelled while it was waiting is still counted; running it does nothing.
  public var count: Int { state.withLock { $0.jobs.count } }

  /// Whether the calling code runs on this executor.
  public var isCurrent: Bool { state.withLock { $0.threads.contains(.current) } }

  /// Runs the handler that has been waiting longest.
  ///
  /// - Returns: Whether a handler was waiting.
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
  /// - Returns: The number of handlers that ran.
  @discardableResult
  public func runAll() -> Int {
    var count = 0
    while runNext() { count += 1 }
    return count
  }

  /// Discards all waiting handlers without running them, like an executor that shuts down.
  ///
  /// - Returns: The number of discarded handlers.
  @discardableResult
  public func dropAll() -> Int {
    let dropped = state.withLock { state in
      defer { state.jobs = [] }
      return state.jobs
    }
    return dropped.count
  }
}
