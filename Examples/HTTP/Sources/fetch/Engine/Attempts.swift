import Pledge
import PledgeFoundation

extension Downloader {
  /// Repeats `operation` after transient errors.
  ///
  /// Progress resets the count of attempts: a connection that breaks every minute is no reason to
  /// give up on a file that takes an hour. After ``TooSlow``, any progress is enough, because the
  /// faster mirror may no longer serve this file.
  func persistently<T: Sendable>(
    _ copy: Copy, errors: [any Error] = [], _ operation: @escaping @Sendable () -> Promise<T>
  ) -> Promise<T> {
    let before = copy.mostReceived
    return operation().recover(on: .immediate) { [self] error in
      let needed = error is TooSlow ? 1 : Self.progressThatCounts
      let hasProgressed = copy.mostReceived >= before + needed
      let errors = hasProgressed ? [error] : errors + [error]
      guard Self.isWorthRetrying(error), errors.count < options.policy.attempts else {
        throw error is CancellationError || Self.isSpoiled(error) ? error : GivenUp(errors: errors)
      }
      return pause(copy, errors).then(on: .immediate) {
        self.persistently(copy, errors: errors, operation)
      }
    }
  }

  /// Repeats `operation` from the first byte after errors that make all received bytes useless.
  func startingOver(
    _ copy: Copy, errors: [any Error] = [], _ operation: @escaping @Sendable () -> Promise<Void>
  ) -> Promise<Void> {
    operation().recover(on: .immediate) { [self] error in
      guard Self.isSpoiled(error) else { throw error }
      let errors = errors + [error]
      do { try copy.restart() } catch { throw GivenUp(errors: errors + [error]) }
      guard errors.count < options.policy.attempts, !Self.isHopeless(errors, copy) else {
        throw GivenUp(errors: errors)
      }
      return pause(copy, errors).then(on: .immediate) {
        self.startingOver(copy, errors: errors, operation)
      }
    }
  }

  func pause(_ copy: Copy, _ errors: [any Error]) -> Promise<Void> {
    let policy = options.policy
    let wanted = errors.last.flatMap { policy.requestedDelay($0) }
    let delay = wanted ?? policy.delay(errors.count)
    if let error = errors.last {
      report(.waiting(copy.file, delay, because: error, askedByServer: wanted != nil))
    }
    return time.after(delay)
  }

  /// The number of bytes that must arrive between two errors, so that the first one is forgotten.
  static let progressThatCounts = 1 << 16

  /// Whether all mirrors serve the same wrong file: in that case, the checksum is probably wrong,
  /// and downloading a large file again would be useless.
  private static func isHopeless(_ errors: [any Error], _ copy: Copy) -> Bool {
    let mismatches = errors.compactMap { $0 as? ChecksumMismatch }
    guard let last = mismatches.last else { return false }
    return mismatches.count { $0 == last } > 1 && copy.isEverywhere(last.actual)
  }

  /// Whether none of the received bytes can be used anymore.
  static func isSpoiled(_ error: any Error) -> Bool {
    switch error {
    case is ChecksumMismatch, is Copy.Failure: true
    // As long as one mirror may still serve the rest of the file, retrying is worthwhile.
    case let error as AggregateError:
      error.errors.contains(where: isSpoiled) && !error.errors.contains(where: isWorthRetrying)
    case let error as GivenUp:
      error.errors.last.map { error in
        isSpoiled(error) || (error as? AggregateError)?.errors.contains(where: isSpoiled) ?? false
      } ?? false
    default: false
    }
  }

  /// Whether another attempt may succeed.
  static func isWorthRetrying(_ error: any Error) -> Bool {
    switch error {
    case is Stalled, is TooSlow: true
    case let error as ConnectionFailure: error.isTransient
    case let error as FileFailure: error.isTooManyFiles
    case let error as AggregateError: error.errors.contains(where: isWorthRetrying)
    default: RetryPolicy.isTransient(error)
    }
  }
}

/// The error of a download whose attempts have all failed; contains those that count.
struct GivenUp: Error, CustomStringConvertible {
  let errors: [any Error]

  var description: String { errors.map { "\($0)" }.joined(separator: "; ") }
}
