import Foundation
import Pledge
import Synchronization

/// Rejects promises of connections that receive no data for too long.
///
/// All requests share one timer, set for the first moment at which one of them can have stalled. A
/// separate timer for each request would cost more than the rest of the chain for a small file.
final class StallWatch: Sendable {
  private struct Watched {
    let meter: Meter
    let cancel: @Sendable () -> Void
  }

  private struct State {
    /// The watched promises, by number, in the order in which watching began.
    var watched: [Int: Watched] = [:]
    /// The numbers of the promises that were cancelled because of a stall.
    var stalled: Set<Int> = []
    var last = 0
    var isTimerSet = false
  }

  private let limit: Duration
  private let time: Time
  private let state = Mutex(State())

  /// Creates a watch; `limit` is the time without data after which a promise is rejected.
  init(limit: Duration, time: Time) {
    self.limit = limit
    self.time = time
  }

  /// Returns a meter that starts now.
  func meter() -> Meter { Meter(time.now()) }

  /// Returns a promise for the same result; if `meter` receives nothing for too long, cancels
  /// `promise` and rejects the returned one with ``Stalled``.
  func watch<T: Sendable>(_ promise: Promise<T>, _ meter: Meter) -> Promise<T> {
    guard promise.isPending else { return promise }
    let (number, needsTimer) = state.withLock { state in
      state.last += 1
      state.watched[state.last] = Watched(meter: meter) { promise.cancel() }
      defer { state.isTimerSet = true }
      return (state.last, !state.isTimerSet)
    }
    if needsTimer { setTimer(after: limit) }
    return promise.mapResult(on: .immediate) { [self] result in
      let hasStalled = state.withLock { state in
        state.watched[number] = nil
        return state.stalled.remove(number) != nil
      }
      if hasStalled, case .failure(is CancellationError) = result {
        throw Stalled(duration: limit)
      }
      return try result.get()
    }
  }

  private func setTimer(after delay: Duration) {
    time.after(delay).done(on: .immediate) { [weak self] in self?.check() }.ignoreErrors()
  }

  /// Cancels the stalled promises, and sets the timer for the next moment at which one can have
  /// stalled.
  private func check() {
    let now = time.now()
    let (stalled, delay) = state.withLock { state in
      let rests = state.watched.mapValues { limit - $0.meter.silence(until: now) }
      let stalled = rests.keys.filter { rests[$0, default: .zero] <= .zero }.sorted()
      let cancels = stalled.compactMap { state.watched.removeValue(forKey: $0)?.cancel }
      state.stalled.formUnion(stalled)
      let delay = rests.values.filter { $0 > .zero }.min()
      state.isTimerSet = delay != nil
      return (cancels, delay)
    }
    for cancel in stalled { cancel() }
    if let delay { setTimer(after: delay) }
  }
}
