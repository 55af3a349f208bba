import Dispatch
import Foundation
import Pledge

/// `@unchecked Sendable`: `queue` is guarded by `lock`.
///
/// A lock of Foundation's, since the thread sanitizer cannot follow `Synchronization.Mutex` on Linux.
private final class DefaultQueue: @unchecked Sendable {
  private let lock = NSLock()
  private var queue = DispatchQueue.main

  var value: DispatchQueue {
    get { lock.withLock { queue } }
    set { lock.withLock { queue = newValue } }
  }
}

private let defaultQueue = DefaultQueue()

extension DispatchQueue {
  /// Where handlers run that name no queue: the main queue unless changed.
  ///
  /// Read at each call that has `on:` left out, so a change counts from then on.
  public static var promises: DispatchQueue {
    get { defaultQueue.value }
    set { defaultQueue.value = newValue }
  }
}

extension DispatchGroup {
  /// Holds the promises that are pending and the handlers that are on their way.
  @usableFromInline static let promises = DispatchGroup()
}

extension QueueExecutor {
  /// Sends every handler to `queue` by itself, and counts it in the group of all promises.
  @inlinable
  static func hop(to queue: DispatchQueue) -> QueueExecutor {
    QueueExecutor(queue, group: .promises)
  }
}

extension DispatchQueue {
  /// Has `work` run on this queue, counted in the group of all promises.
  @usableFromInline
  func hop(_ work: @escaping () -> Void) {
    // `nonisolated(unsafe)`: called once, on this queue.
    nonisolated(unsafe) let work = work
    async(group: .promises) { work() }
  }

  /// Has `work` run on this queue in `interval` seconds.
  @usableFromInline
  func after(_ interval: Double, _ work: @escaping () -> Void) {
    // `nonisolated(unsafe)`: called once, on this queue.
    nonisolated(unsafe) let work = work
    asyncAfter(deadline: .now() + interval) { work() }
  }
}

extension Promise {
  /// Calls `handler` on `queue` with the outcome, after one hop.
  ///
  /// What all operators are made of.
  @inlinable @inline(__always)
  func observe(
    on queue: DispatchQueue, _ handler: @escaping (Swift.Result<Value, any Error>) -> Void
  ) {
    // `nonisolated(unsafe)`: called once, on the queue.
    nonisolated(unsafe) let handler = handler
    if ending == nil, let result = storage.currentResult {
      // Made resolved, so there is no handler that this one could overtake.
      queue.async(group: .promises) { handler(result.map { $0.value }) }
    } else {
      storage.observe(on: QueueExecutor.hop(to: queue)) { result in handler(result.map { $0.value })
      }
    }
  }

  /// Creates a pending promise that `handler` resolves, on `queue`, from this one's outcome.
  ///
  /// `handler` is given `work`, the user's closure, and captures nothing: so there is one context for
  /// all that the handler needs, and not one in another.
  @inlinable @inline(__always)
  func chain<Work, Result>(
    on queue: DispatchQueue, to result: Promise<Result> = Promise<Result>(), _ work: Work,
    _ handler: @escaping (Swift.Result<Value, any Error>, Promise<Result>, Work) throws -> Void
  ) -> Promise<Result> {
    // `nonisolated(unsafe)`: used once, on the queue; the promise may be used everywhere.
    nonisolated(unsafe) let (handler, work, promise) = (handler, work, result)
    if ending == nil, let outcome = storage.currentResult {
      // As in `observe`.
      queue.async(group: .promises) {
        promise.run { try handler(outcome.map { $0.value }, promise, work) }
      }
    } else {
      storage.observe(on: QueueExecutor.hop(to: queue)) { outcome in
        promise.run { try handler(outcome.map { $0.value }, promise, work) }
      }
    }
    return result
  }

  /// Runs `body`, which is to resolve this promise; rejects the promise if it throws.
  @inlinable @inline(__always)
  func run(_ body: () throws -> Void) {
    do {
      try body()
    } catch {
      reject(error)
    }
  }

  /// Resolves this promise as `outcome` says.
  @inlinable
  func resolve(_ outcome: Swift.Result<Value, any Error>) {
    switch outcome {
    case .success(let value): fulfill(value)
    case .failure(let error): reject(error)
    }
  }
}
