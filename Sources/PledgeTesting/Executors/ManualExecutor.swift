import Foundation
import Pledge

/// An executor whose handlers run when the test runs them, on the test's thread.
///
/// ```swift
/// let executor = ManualExecutor()
/// let guarantee = Guarantee.value(1).map(on: executor) { $0 + 1 }
/// #expect(guarantee.isPending)
/// executor.runAll()
/// #expect(guarantee.currentValue == 2)
/// ```
public final class ManualExecutor: PromiseExecutor {
  private struct State {
    /// The threads that run a handler; one that does so inside another handler, more than once.
    var threads: [pthread_t] = []
    /// The waiting jobs by their numbers, which ascend from `first`.
    var jobs: [Int: PromiseJob] = [:]
    var first = 0

    /// The index in `threads` of the calling thread.
    var threadIndex: Int? { threads.lastIndex { pthread_equal($0, pthread_self()) != 0 } }
  }

  private let state = Mutex(State())

  /// Creates an executor without handlers.
  public init() {}

  /// Holds `job` until the test runs it.
  public func enqueue(_ job: PromiseJob) {
    state.withLock { $0.jobs[$0.first + $0.jobs.count] = job }
  }

  /// The number of waiting handlers.
  ///
  /// A handler that was cancelled while it was waiting is still counted; running it does nothing.
  public var count: Int { state.withLock { $0.jobs.count } }

  /// Whether the calling code runs on this executor.
  public var isCurrent: Bool { state.withLock { $0.threadIndex != nil } }

  /// Runs the handler that has been waiting longest.
  ///
  /// - Returns: Whether a handler was waiting.
  @discardableResult
  public func runNext() -> Bool {
    guard let next = take() else { return false }
    state.withLock { $0.threads.append(pthread_self()) }
    next.run()
    state.withLock { state in
      if let index = state.threadIndex { state.threads.remove(at: index) }
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
    // Not those that are enqueued because of a discarded one.
    (0..<count).count { _ in take() != nil }
  }

  private func take() -> PromiseJob? {
    state.withLock { state in
      guard let job = state.jobs.removeValue(forKey: state.first) else { return nil }
      state.first += 1
      return job
    }
  }
}
