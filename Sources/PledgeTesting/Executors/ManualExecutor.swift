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
    var threads: [ThreadID] = []
    /// The jobs, of which those before `next` have been taken.
    private var jobs: [PromiseJob?] = []
    private var next = 0

    var count: Int { jobs.count - next }

    mutating func append(_ job: PromiseJob) { jobs.append(job) }

    /// Removes and returns the first job, in amortized constant time.
    mutating func popFirst() -> PromiseJob? {
      guard next < jobs.count else { return nil }
      defer {
        next += 1
        if next * 2 >= jobs.count {
          jobs.removeFirst(next)
          next = 0
        }
      }
      return exchange(&jobs[next], with: nil)
    }

    mutating func removeAll() -> [PromiseJob] {
      defer {
        jobs = []
        next = 0
      }
      return jobs.compactMap { $0 }
    }
  }

  private let state = Mutex(State())

  /// Creates an executor without handlers.
  public init() {}

  /// Holds `job` until the test runs it.
  public func enqueue(_ job: PromiseJob) { state.withLock { $0.append(job) } }

  /// The number of waiting handlers.
  ///
  /// A handler that was cancelled while it was waiting is still counted; running it does nothing.
  public var count: Int { state.withLock { $0.count } }

  /// Whether the calling code runs on this executor.
  public var isCurrent: Bool { state.withLock { $0.threads.contains(.current) } }

  /// Runs the handler that has been waiting longest.
  ///
  /// - Returns: Whether a handler was waiting.
  @discardableResult
  public func runNext() -> Bool {
    let next: PromiseJob? = state.withLock { state in
      guard let next = state.popFirst() else { return nil }
      state.threads.append(.current)
      return next
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
    state.withLock { $0.removeAll() }.count
  }
}
