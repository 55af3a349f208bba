import Pledge
import PledgeTesting
import StressKit

/// A service with a fixed number of workers and a queue, on a clock that stands still between
/// events.
///
/// Like most services, it doesn't notice that a caller has given up: it does the work nevertheless.
final class Service: Sendable {
  /// How the service is doing at a time.
  struct Health {
    var serviceTime: Duration
    var isFailing = false
  }

  struct Failed: Error {}
  struct QueueFull: Error {}

  private struct State {
    var busy = 0
    var queue: [Resolver<Void>] = []
    /// The place of the first waiting request, so that removing it takes constant time.
    var first = 0
    var received = 0
  }

  static let workers = 50
  static let queueCapacity = 5_000

  private let clock: TestClock
  private let health: @Sendable (_ seconds: Double) -> Health
  private let state = Lock(State())

  init(_ clock: TestClock, health: @escaping @Sendable (_ seconds: Double) -> Health) {
    self.clock = clock
    self.health = health
  }

  /// The number of requests so far.
  var received: Int { state.withLock { $0.received } }

  func request() -> Promise<Void> {
    let (promise, resolver) = Promise<Void>.withResolvers()
    if health(clock.now.offset.seconds).isFailing {
      state.withLock { $0.received += 1 }
      resolver.reject(Failed())
      return promise
    }
    enum Place { case worker, queue, none }
    let place: Place = state.withLock { state in
      state.received += 1
      if state.busy < Self.workers {
        state.busy += 1
        return .worker
      }
      guard state.queue.count - state.first < Self.queueCapacity else { return .none }
      state.queue.append(resolver)
      return .queue
    }
    switch place {
    case .worker: work(resolver)
    case .queue: break
    case .none: resolver.reject(QueueFull())
    }
    return promise
  }

  private func work(_ resolver: Resolver<Void>) {
    let time = health(clock.now.offset.seconds).serviceTime
    Promise<Void>.after(time, clock: clock)
      .done(on: .immediate) { [self] in
        resolver.fulfill()
        let next: Resolver<Void>? = state.withLock { state in
          guard state.first < state.queue.count else {
            state.busy -= 1
            return nil
          }
          state.first += 1
          let next = state.queue[state.first - 1]
          if state.first > 1_000 {
            state.queue.removeFirst(state.first)
            state.first = 0
          }
          return next
        }
        if let next { work(next) }
      }
      .catch(on: .immediate) { _ in }
  }
}

extension Duration {
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) * 1e-18
  }
}
