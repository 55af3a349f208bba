import Pledge
import PledgeTesting
import StressKit

/// A service with a fixed number of workers and a queue, on a clock that stands still between
/// events.
///
/// Like most services, it doesn't notice that a caller has given up: it does the work nevertheless.
final class Service: Sendable {
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
  private let state = Lock(State())

  init(_ clock: TestClock) { self.clock = clock }

  var received: Int { state.withLock { $0.received } }

  func request() -> Promise<Void> {
    let (promise, resolver) = Promise<Void>.withResolvers()
    let isFailing = Simulation.failing.contains(clock.now.offset.seconds)
    let proceed: (() -> Void)? = state.withLock { state in
      state.received += 1
      if isFailing { return { resolver.reject(Failed()) } }
      if state.busy < Self.workers {
        state.busy += 1
        return { self.work(resolver) }
      }
      guard state.queue.count - state.first < Self.queueCapacity else {
        return { resolver.reject(QueueFull()) }
      }
      state.queue.append(resolver)
      return nil
    }
    proceed?()
    return promise
  }

  private func work(_ resolver: Resolver<Void>) {
    let isSlow = Simulation.slow.contains(clock.now.offset.seconds)
    // 1,000 requests per second, of which the clients need 700; 250 while it is slow.
    Promise<Void>.after(isSlow ? .milliseconds(200) : .milliseconds(50), clock: clock)
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
  var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
