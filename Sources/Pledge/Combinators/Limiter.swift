import Synchronization

/// Runs operations, at most so many at a time, in the order in which they were submitted.
///
/// ```swift
/// let limiter = Limiter(4)
/// let pages = urls.map { url in limiter.run { download(url) } }
/// ```
public final class Limiter: Sendable {
  private struct Waiting {
    let start: @Sendable (Limiter) -> Void
    let clear: @Sendable () -> Void
  }

  private struct State {
    var limit: Int
    var running = 0
    var isPaused = false
    var nextTicket = 0
    var firstTicket = 0
    var waiting: [Int: Waiting] = [:]
    var idle: [Resolver<Void>] = []
  }

  private let state: Mutex<State>

  /// Makes a limiter for `limit` operations at a time.
  ///
  /// A limit of less than one would let nothing run; that is a programming error and stops the
  /// program.
  public init(_ limit: Int) {
    precondition(limit >= 1, "Pledge: a Limiter needs a limit of at least 1, not \(limit)")
    state = Mutex(State(limit: limit))
  }

  /// How many operations are running.
  public var runningCount: Int { state.withLock { $0.running } }

  /// How many operations wait for their turn.
  public var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Runs `operation` as soon as there is room for it.
  ///
  /// **Execution.** `operation` runs in place: inside this call if there is room, else on the thread
  /// on which an earlier operation settles. Cancelling the result takes the operation out of the
  /// queue, or cancels its promise if it is running.
  public func run<T: Sendable>(
    _ operation: @escaping @Sendable () throws -> Promise<T>
  ) -> Promise<T> {
    let (promise, resolver) = Promise<T>.withResolvers()
    let restoring = TaskLocals.snapshot() ?? { $0() }
    let ticket = state.withLock { state in
      defer { state.nextTicket += 1 }
      state.waiting[state.nextTicket] = Waiting(
        start: { limiter in
          restoring {
            let inner: Promise<T> = Promise.attempt { try operation() }
            // First the room, then the result: who waits for the result may submit the next one.
            resolver.resolve(
              with: inner.finished(_HandlerTarget(immediate: ())) { limiter.leave() })
          }
        },
        clear: { resolver.reject(CancellationError()) })
      return state.nextTicket
    }
    promise.cell.onCancel { [weak self] in self?.withdraw(ticket) }
    startNext()
    return promise
  }

  /// Starts no more operations until ``resume()``; those that run go on.
  public func pause() { state.withLock { $0.isPaused = true } }

  /// Goes on after ``pause()``.
  public func resume() {
    state.withLock { $0.isPaused = false }
    startNext()
  }

  /// Rejects all operations that wait with `CancellationError`; those that run go on.
  public func clear() {
    let cleared = state.withLock { state in
      defer { state.waiting = [:] }
      return state.waiting.sorted { $0.key < $1.key }.map(\.value)
    }
    for waiting in cleared { waiting.clear() }
    tellIfIdle()
  }

  /// A promise that is fulfilled when nothing runs and nothing waits; at once if that is so now.
  public func idle() -> Promise<Void> {
    let (promise, resolver) = Promise<Void>.withResolvers()
    state.withLock { $0.idle.append(resolver) }
    tellIfIdle()
    return promise
  }

  private func withdraw(_ ticket: Int) {
    let withdrawn = state.withLock { $0.waiting.removeValue(forKey: ticket) }
    withExtendedLifetime(withdrawn) {}
    tellIfIdle()
  }

  private func leave() {
    state.withLock { $0.running -= 1 }
    startNext()
    tellIfIdle()
  }

  private func startNext() {
    while true {
      let next: Waiting? = state.withLock { state in
        guard !state.isPaused, state.running < state.limit else { return nil }
        while state.firstTicket < state.nextTicket {
          defer { state.firstTicket += 1 }
          if let waiting = state.waiting.removeValue(forKey: state.firstTicket) {
            state.running += 1
            return waiting
          }
        }
        return nil
      }
      guard let next else { return }
      next.start(self)
    }
  }

  private func tellIfIdle() {
    let resolvers: [Resolver<Void>] = state.withLock { state in
      guard state.running == 0, state.waiting.isEmpty else { return [] }
      defer { state.idle = [] }
      return state.idle
    }
    for resolver in resolvers { resolver.fulfill() }
  }
}
