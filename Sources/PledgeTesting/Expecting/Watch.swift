import Dispatch
@_spi(DropIns) import Pledge
import PledgeDiagnostics

/// Waits for promises of any type, for a limited time.
///
/// It measures time on its own queue. It doesn't use the library's timers, because a test can be
/// testing them, or the global queue, because a test can block all its threads.
///
/// `@unchecked Sendable`: only `add` changes `states`, before the watch is shared; the other
/// properties are immutable or thread-safe.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
final class Watch: @unchecked Sendable {
  /// `@unchecked Sendable`: immutable, and Dispatch guards the item; not all SDKs declare that.
  private struct Timeout: @unchecked Sendable {
    let item: DispatchWorkItem
  }

  private let limit: Duration
  private var states: [@Sendable () -> (description: String, isPending: Bool)] = []
  /// The number of promises that haven't settled.
  private let pendingCount = Mutex(0)
  private let changes = ChangeWaiters()
  private let isOver = Mutex(false)

  private static let timer = DispatchQueue(label: "PledgeTesting.Watch")

  init(limit: Duration) { self.limit = limit }

  func add(_ promise: Promise<some Sendable>) {
    states.append { (promise.description, promise.isPending) }
    pendingCount.withLock { $0 += 1 }
    // `tap` doesn't handle the error. A promise that never settles must not retain the others.
    _ = promise.tap(on: .immediate) { [weak self] _ in
      self?.pendingCount.withLock { $0 -= 1 }
      self?.changes.tell()
    }
  }

  /// Waits for the promises.
  ///
  /// Throws an ``ExpectationError`` when the limit is reached, and `CancellationError` as soon as the
  /// task is cancelled.
  func wait(_ fileID: StaticString, _ line: UInt) async throws {
    // Dispatch retains a cancelled item until its deadline, so the item must not retain the promises.
    let timeout = Timeout(item: DispatchWorkItem { [weak self] in self?.extend(rounds: 5) })
    Self.timer.asyncAfter(deadline: .now() + limit.interval, execute: timeout.item)
    defer { timeout.item.cancel() }
    await changes.wait { [self] in isOver.withLock { $0 } || isDone }
    if !isDone { try Task.checkCancellation() }
    try check(fileID, line)
  }

  private var isDone: Bool { pendingCount.withLock { $0 == 0 } }

  /// Ends the wait after a number of rounds, in each of which a task must run.
  ///
  /// Tests that run in parallel can block all threads of Swift's tasks for a minute, during which the
  /// work that settles the promises can't start.
  private func extend(rounds: Int) {
    guard rounds > 0 else {
      isOver.withLock { $0 = true }
      changes.tell()
      return
    }
    let pause = min(limit / 20, .milliseconds(500)).interval
    // Uses the default priority, because other priorities have their own threads on some systems.
    Task.detached { [weak self] in
      Self.timer.asyncAfter(deadline: .now() + pause) { [weak self] in
        self?.extend(rounds: rounds - 1)
      }
    }
  }

  private func check(_ fileID: StaticString, _ line: UInt) throws {
    let pending = states.enumerated().compactMap { index, state in
      let now = state()
      return now.isPending ? "no. \(index + 1) \(now.description)" : nil
    }
    guard !pending.isEmpty else { return }
    let verb = pending.count == 1 ? "was" : "were"
    throw ExpectationError(
      "\(pending.count) of \(states.count) promises \(verb) still pending after \(limit): "
        + pending.joined(separator: ", "),
      fileID, line, pendingTree: Trace.current?.pendingTree().description)
  }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Duration {
  /// The duration as a Dispatch interval, at least zero and at most about a year.
  var interval: DispatchTimeInterval {
    let (seconds, attoseconds) = max(.zero, min(self, .seconds(31_536_000))).components
    return .milliseconds(
      Int(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1))
  }
}
