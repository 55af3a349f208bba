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
  static let promises = DispatchGroup()
}

/// Sends every handler to the queue by itself, and counts it in the group of all promises.
struct Hop: PromiseExecutor {
  let queue: DispatchQueue

  func enqueue(_ job: PromiseJob) {
    queue.async(group: .promises) { job.run() }
  }
}

extension DispatchQueue {
  /// Has `work` run on this queue, counted in the group of all promises.
  func hop(_ work: @escaping () -> Void) {
    let work = UncheckedBox(work)
    async(group: .promises) { work.value() }
  }

  /// Has `work` run on this queue in `interval` seconds.
  func after(_ interval: Double, _ work: @escaping () -> Void) {
    let work = UncheckedBox(work)
    asyncAfter(deadline: .now() + interval) { work.value() }
  }
}

extension Promise {
  /// Calls `handler` on `queue` with the outcome, after one hop.
  ///
  /// What all operators are made of.
  func observe(
    on queue: DispatchQueue, _ handler: @escaping (Swift.Result<Value, any Error>) -> Void
  ) {
    let handler = UncheckedBox(handler)
    storage.observe(on: Hop(queue: queue)) { result in
      handler.value(result.map { $0.value })
    }
  }

  /// Makes a pending promise that `handler` resolves, on `queue`, from this one's outcome.
  func chain<Result>(
    on queue: DispatchQueue, to result: Promise<Result> = Promise<Result>(),
    _ handler: @escaping (Swift.Result<Value, any Error>, Promise<Result>) throws -> Void
  ) -> Promise<Result> {
    observe(on: queue) { outcome in
      do {
        try handler(outcome, result)
      } catch {
        result.reject(error)
      }
    }
    return result
  }

  /// Resolves this promise as `outcome` says.
  func resolve(_ outcome: Swift.Result<Value, any Error>) {
    switch outcome {
    case .success(let value): fulfill(value)
    case .failure(let error): reject(error)
    }
  }
}
