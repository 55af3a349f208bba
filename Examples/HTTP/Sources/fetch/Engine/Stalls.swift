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

/// The time for which a connection may receive no data.
struct StallLimit: Sendable {
  let limit: Duration
  let time: Time

  /// Returns a promise for the same result, or one that is rejected with ``Stalled`` if `meter` receives
  /// nothing for too long; `promise` is then cancelled.
  func watch<T: Sendable>(_ promise: Promise<T>, _ meter: Meter) -> Promise<T> {
    promise.isPending ? Promise.race(promise, stall(of: meter)) : promise
  }

  /// Returns a promise that is rejected once `meter` has received nothing for too long.
  private func stall<T: Sendable>(of meter: Meter) -> Promise<T> {
    let rest = limit - meter.silence(until: time.now())
    guard rest > .zero else { return .rejected(Stalled(duration: limit)) }
    return time.after(rest).then(on: .immediate) { stall(of: meter) }
  }
}
