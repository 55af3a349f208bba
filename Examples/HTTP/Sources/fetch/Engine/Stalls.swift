import Pledge
import Synchronization

/// The error of a connection that received no data for too long.
struct Stalled: Error, CustomStringConvertible {
  let duration: Duration
  var description: String { "no data received for \(duration / .seconds(1)) s" }
}

/// The number of bytes that a connection has received, and the time of the last ones.
final class Meter: Sendable {
  private struct State {
    var count = 0
    var last: Duration
    var isBusy = false
  }

  let start: Duration
  private let state: Mutex<State>

  init(_ now: Duration) {
    start = now
    state = Mutex(State(last: now))
  }

  var count: Int { state.withLock { $0.count } }

  /// The time without data until `now`: zero while data are being written, however long that takes.
  func silence(until now: Duration) -> Duration {
    state.withLock { $0.isBusy ? .zero : now - $0.last }
  }

  /// Runs `body`, which writes `count` bytes that have arrived.
  func receive(_ count: Int, now: () -> Duration, _ body: () throws -> Void) rethrows {
    state.withLock { $0.isBusy = true }
    defer {
      let now = now()
      state.withLock { $0 = State(count: $0.count + count, last: now) }
    }
    try body()
  }
}

/// Rejects promises of connections that receive no data for too long.
///
/// All requests share one timer, set for the first moment at which one of them can have stalled. A
/// separate timer for each request would cost more than the rest of the chain for a small file.
final class StallWatch: Sendable {
  private struct Watched {
    let meter: Meter
    let cancel: @Sendable () -> Void
    var hasStalled = false
  }

  private struct State {
    /// The watched promises, by number, in the order in which watching began.
    var watched: [Int: Watched] = [:]
    var last = 0
    var isTimerSet = false
  }

  private let limit: Duration
  private let time: Time
  private let state = Mutex(State())

  /// Creates a watch; `limit` is the time without data after which a promise is rejected.
  init(limit: Duration, time: Time) { (self.limit, self.time) = (limit, time) }

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
      let watched = state.withLock { $0.watched.removeValue(forKey: number) }
      if watched?.hasStalled == true, case .failure(is CancellationError) = result {
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
      let rests = state.watched.filter { !$0.value.hasStalled }
        .mapValues { limit - $0.meter.silence(until: now) }
      let stalled = rests.filter { $0.value <= .zero }.keys.sorted()
      for number in stalled { state.watched[number]?.hasStalled = true }
      let delay = rests.values.filter { $0 > .zero }.min()
      state.isTimerSet = delay != nil
      return (stalled.compactMap { state.watched[$0]?.cancel }, delay)
    }
    for cancel in stalled { cancel() }
    if let delay { setTimer(after: delay) }
  }
}
