import Dispatch
import Foundation
@_spi(DropIns) import Pledge

/// The queue on which Pledge changes instances of `Progress`.
///
/// `Progress` propagates a change to its parent; on Linux, it does so without a lock.
let progressQueue = DispatchQueue(label: "Pledge.Progress")

/// The progress of one transfer.
///
/// `@unchecked Sendable`: an immutable reference to an object that changes on one queue.
final class TransferProgress: @unchecked Sendable {
  private let progress: Progress

  init(_ progress: Progress) { self.progress = progress }

  func begin(_ cancel: @escaping @Sendable () -> Void) {
    progress.kind = .file
    progress.totalUnitCount = -1
    progress.cancellationHandler = cancel
    if progress.isCancelled { cancel() }
  }

  /// Sets the total, which is unknown if it's negative.
  func expect(_ total: Int64) {
    progressQueue.sync {
      if progress.totalUnitCount != total { progress.totalUnitCount = total }
    }
  }

  func advance(to bytes: Int64) {
    progressQueue.sync { progress.completedUnitCount = bytes }
  }

  func end(successfully: Bool) {
    progress.cancellationHandler = nil
    guard successfully else { return }
    progressQueue.sync {
      // A fraction needs a total above zero: an empty body counts as one unit.
      let count = max(1, progress.completedUnitCount, progress.totalUnitCount)
      progress.totalUnitCount = count
      progress.completedUnitCount = count
    }
  }
}

extension Promise {
  /// Returns a promise for all the values, in the order of `promises`, and reports progress.
  ///
  /// ```swift
  /// let progress = Progress(totalUnitCount: -1)
  /// Promise.all(chapters.map(typeset), progress: progress, weights: chapters.map(\.pageCount))
  /// ```
  ///
  /// The total of `progress` is the sum of the weights. If the sum is 0, for example because there
  /// are no promises, `progress` is finished immediately, with a total of 1. Each promise that is
  /// fulfilled adds its weight to the completed units before the result is fulfilled. The first
  /// rejection rejects the result, and `progress` doesn't change after that. To report progress
  /// within a promise, use `Progress.addChild(_:withPendingUnitCount:)` and pass the child to the
  /// promise's own work.
  ///
  /// **Execution.** Observers of `progress` are called on a serial queue that belongs to Pledge.
  ///
  /// **Cancellation.** Cancelling the result, or `progress`, cancels all promises that have no
  /// other consumer.
  ///
  /// - Parameters:
  ///   - promises: The promises to wait for.
  ///   - progress: The progress to update; its units are those of `weights`.
  ///   - weights: One nonnegative weight for each promise; nil for a weight of 1 each. Other values
  ///     reject the result with `PromiseError.invalidArgument`.
  ///   - cancellingRest: Whether a rejection cancels the promises that have no other consumer.
  public static func all<T: Sendable>(
    _ promises: some Sequence<Promise<T>>, progress: Progress, weights: [Int64]? = nil,
    cancellingRest: Bool = false
  ) -> Promise where Value == [T] {
    let inputs = Array(promises)
    let weights = weights ?? Array(repeating: 1, count: inputs.count)
    guard let total = sum(weights), weights.count == inputs.count else {
      return .rejected(
        PromiseError.invalidArgument(
          "There must be one weight for each promise, none negative, and a sum below 2^63."))
    }
    let tally = Tally(progress, total: total)
    let counted = zip(inputs, weights).map { input, weight in
      input.map(on: progressQueue) { value in
        tally.add(weight)
        return value
      }
    }
    let result = Promise.all(counted, cancellingRest: cancellingRest)
      .finally(on: progressQueue) {
        tally.stop()
        progress.cancellationHandler = nil
      }
      // The user's handlers in place would block all transfers.
      .tap(on: OffTheProgressQueue()) { _ in }
    progress.cancellationHandler = { result.cancel() }
    // The result can be settled already.
    progressQueue.async { if !result.isPending { progress.cancellationHandler = nil } }
    if progress.isCancelled { result.cancel() }
    return result
  }

  private static func sum(_ weights: [Int64]) -> Int64? {
    var total: Int64 = 0
    for weight in weights {
      let (sum, overflow) = total.addingReportingOverflow(weight)
      guard weight >= 0, !overflow else { return nil }
      total = sum
    }
    return total
  }
}

private struct OffTheProgressQueue: PromiseExecutor {
  func enqueue(_ job: PromiseJob) { Background.run { job.run() } }
}

/// Adds up weights.
///
/// `@unchecked Sendable`: after `init`, everything is used only on `progressQueue`.
private final class Tally: @unchecked Sendable {
  private let progress: Progress
  private var isStopped = false

  init(_ progress: Progress, total: Int64) {
    self.progress = progress
    // A fraction needs a total above zero, and Foundation on Linux traps when a total becomes 0: no
    // work counts as one completed unit.
    progress.completedUnitCount = 0
    progress.totalUnitCount = max(1, total)
    if total == 0 { progress.completedUnitCount = 1 }
  }

  func add(_ weight: Int64) {
    dispatchPrecondition(condition: .onQueue(progressQueue))
    if !isStopped { progress.completedUnitCount += weight }
  }

  func stop() {
    dispatchPrecondition(condition: .onQueue(progressQueue))
    isStopped = true
  }
}
