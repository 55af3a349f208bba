import Dispatch
import Foundation
@_spi(DropIns) import Pledge

/// `@unchecked Sendable`: `queue` is guarded by `lock`.
///
/// The lock is Foundation's, because `Synchronization.Mutex` needs macOS 15 and iOS 18.
private final class DefaultQueue: @unchecked Sendable {
  private let lock = NSLock()
  private var queue = mainQueue

  var value: DispatchQueue {
    get { lock.withLock { queue } }
    set { lock.withLock { queue = newValue } }
  }
}

private let defaultQueue = DefaultQueue()

/// The main queue, for which Dispatch returns a new object each time on Linux.
@usableFromInline let mainQueue = DispatchQueue.main

extension DispatchQueue {
  /// The queue for handlers without `on:`, which is the main queue unless you change it.
  ///
  /// It's read by each call without `on:`, so a change affects later calls.
  public static var promises: DispatchQueue {
    get { defaultQueue.value }
    set { defaultQueue.value = newValue }
  }
}

extension DispatchGroup {
  /// The group that contains the pending promises and the enqueued handlers.
  @usableFromInline static let promises = DispatchGroup()
}

extension QueueExecutor {
  /// Returns an executor that enqueues each handler separately on `queue`, counted in the group of
  /// all promises.
  @inlinable
  static func hop(to queue: DispatchQueue) -> QueueExecutor {
    queue === mainQueue ? hopToMain : QueueExecutor(queue, group: .promises)
  }

  /// The executor for the default queue, so that it isn't allocated for each handler.
  @usableFromInline static let hopToMain = QueueExecutor(mainQueue, group: .promises)
}

extension DispatchQueue {
  /// Enqueues `work` on this queue, counted in the group of all promises.
  @usableFromInline
  func hop(_ work: @escaping () -> Void) {
    // `nonisolated(unsafe)`: called once, on this queue.
    nonisolated(unsafe) let work = work
    async(group: .promises) { work() }
  }

  /// Runs `work` on this queue after `interval` seconds.
  @usableFromInline
  func after(_ interval: Double, _ work: @escaping () -> Void) {
    // `nonisolated(unsafe)`: called once, on this queue.
    nonisolated(unsafe) let work = work
    asyncAfter(deadline: .now() + interval) { work() }
  }
}

extension Promise {
  /// Calls `handler` with the result, after one hop on `queue`.
  @inlinable @inline(__always)
  func observe(
    on queue: DispatchQueue, _ handler: @escaping (Swift.Result<Value, any Error>) -> Void
  ) {
    // `nonisolated(unsafe)`: called once, on the queue.
    nonisolated(unsafe) let handler = handler
    if ending == nil, let result = storage.currentResult {
      // The promise was created resolved, so this handler can't overtake another one.
      queue.async(group: .promises) { handler(result.map { $0.value }) }
    } else {
      storage.observe(on: QueueExecutor.hop(to: queue)) { result in handler(result.map { $0.value })
      }
    }
  }

  /// Returns a pending promise that `handler` resolves on `queue` with this promise's result.
  ///
  /// `handler` receives `work`, the user's closure, and captures nothing, so only one closure
  /// context is allocated.
  @inlinable @inline(__always)
  func chain<Work, Result>(
    on queue: DispatchQueue, to result: Promise<Result> = Promise<Result>(), _ work: Work,
    _ handler: @escaping (Swift.Result<Value, any Error>, Promise<Result>, Work) throws -> Void
  ) -> Promise<Result> {
    // `nonisolated(unsafe)`: used once, on the queue.
    nonisolated(unsafe) let (handler, work) = (handler, work)
    if ending == nil, let outcome = storage.currentResult {
      // As in `observe`.
      queue.async(group: .promises) {
        result.run { try handler(outcome.map { $0.value }, result, work) }
      }
    } else {
      storage.observe(on: QueueExecutor.hop(to: queue)) { outcome in
        result.run { try handler(outcome.map { $0.value }, result, work) }
      }
    }
    return result
  }

  /// Runs `body`, which resolves this promise, and rejects the promise if `body` throws.
  @inlinable @inline(__always)
  func run(_ body: () throws -> Void) {
    do { try body() } catch { reject(error) }
  }

  /// Resolves this promise with `outcome`.
  @inlinable
  func resolve(_ outcome: Swift.Result<Value, any Error>) {
    switch outcome {
    case .success(let value): fulfill(value)
    case .failure(let error): reject(error)
    }
  }
}
