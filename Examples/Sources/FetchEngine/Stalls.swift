import Foundation
import Pledge
import Synchronization

/// Rejects what receives nothing for too long.
///
/// All requests share one timer, which is set for the first moment at which one of them can have
/// stalled. A timer for each request costs more than the rest of a small file's chain.
final class StallWatch: Sendable {
  private struct Watched {
    let meter: Meter
    let cancel: @Sendable () -> Void
  }

  private struct State {
    /// What is watched, by the order in which that began.
    var watched: [Int: Watched] = [:]
    /// What was cancelled because it has stalled.
    var stalled: Set<Int> = []
    var last = 0
    var isTimerSet = false
  }

  private let limit: Duration
  private let time: Time
  private let state = Mutex(State())

  /// Creates a watch.
  ///
  /// - Parameters:
  ///   - limit: How long nothing may arrive.
  ///   - time: The clock.
  init(limit: Duration, time: Time) {
    self.limit = limit
    self.time = time
  }

  /// Returns a meter that starts now.
  func meter() -> Meter { Meter(time.now()) }

  /// Cancels `promise`, and rejects the returned one with ``Stalled``, once `meter` has received
  /// nothing for too long.
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
    time.after(delay).done(on: .immediate) { [weak self] in self?.check() }.cauterize()
  }

  /// Cancels what has stalled, and sets the timer for the next moment at which something can have.
  private func check() {
    let now = time.now()
    let (stalled, delay) = state.withLock { state in
      let rests = state.watched.mapValues { limit - (now - $0.meter.last) }
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
