import Dispatch
import Pledge
import PledgeDiagnostics

/// Waits for promises of any type, for a limited time.
///
/// Keeps its time by a queue of its own, and not by the library's timers, which may be what is under
/// test, nor by the global queue, whose threads a test may keep busy.
///
/// `@unchecked Sendable`: `states` is only changed by `add`, before the watch is shared; the rest
/// never changes or guards itself.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
final class Watch: @unchecked Sendable {
  private let limit: Duration
  private var states: [@Sendable () -> (description: String, isPending: Bool)] = []
  /// Has an entry for each promise that is pending.
  private let group = DispatchGroup()
  private let changes = ChangeWaiters()
  private let isOver = Mutex(false)

  private static let timer = DispatchQueue(label: "PledgeTesting.Watch")

  init(limit: Duration) { self.limit = limit }

  func add(_ promise: Promise<some Sendable>) {
    states.append { (promise.description, promise.isPending) }
    group.enter()
    // `tap` only looks: the error stays as unhandled as it was.
    _ = promise.tap(on: .immediate) { [group, changes] _ in
      group.leave()
      changes.tell()
    }
  }

  /// Throws an ``ExpectationError`` when the time is over, and `CancellationError` as soon as the
  /// task is cancelled.
  func wait(_ origin: SourceLocation) async throws {
    let timeout = startTimer()
    defer { timeout.content.cancel() }
    await changes.wait { [self] in isOver.withLock { $0 } || isDone(by: .now()) }
    if !isDone(by: .now()) { try Task.checkCancellation() }
    try check(origin)
  }

  /// Throws an ``ExpectationError`` when the time is over.
  @available(*, noasync)
  func block(_ origin: SourceLocation) throws {
    _ = isDone(by: .now() + limit.interval)
    try check(origin)
  }

  /// Blocks until all promises have settled, or the time has come.
  ///
  /// - Returns: Whether they have.
  private func isDone(by time: DispatchTime) -> Bool { group.wait(timeout: time) == .success }

  private func startTimer() -> UncheckedBox<DispatchWorkItem> {
    // Dispatch keeps a cancelled item until its time has come: it must not keep the promises.
    let item = DispatchWorkItem { [weak self] in self?.extend(rounds: 5) }
    Self.timer.asyncAfter(deadline: .now() + limit.interval, execute: item)
    return UncheckedBox(item)
  }

  /// Ends the wait after some rounds, in each of which a task has to get its turn.
  ///
  /// Tests that run side by side can keep all threads of the tasks busy for a minute, and then what
  /// the promises wait for could not even start.
  private func extend(rounds: Int) {
    guard rounds > 0 else {
      isOver.withLock { $0 = true }
      changes.tell()
      return
    }
    let pause = min(limit / 20, .milliseconds(500)).interval
    // Of the usual priority: others have threads of their own on some systems.
    Task.detached { [weak self] in
      Self.timer.asyncAfter(deadline: .now() + pause) { [weak self] in
        self?.extend(rounds: rounds - 1)
      }
    }
  }

  private func check(_ origin: SourceLocation) throws {
    let pending = states.enumerated().compactMap { index, state in
      let now = state()
      return now.isPending ? "no. \(index + 1) \(now.description)" : nil
    }
    guard !pending.isEmpty else { return }
    let verb = pending.count == 1 ? "was" : "were"
    throw ExpectationError(
      "\(pending.count) of \(states.count) promises \(verb) still pending after \(limit): "
        + pending.joined(separator: ", "),
      origin: origin, pendingTree: Trace.current?.pendingTree().description)
  }
}

/// Carries what is not Sendable to where it is safe to use.
///
/// `@unchecked Sendable`: only for contents that are thread-safe without saying so.
struct UncheckedBox<Content>: @unchecked Sendable {
  let content: Content
  init(_ content: Content) { self.content = content }
}

@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
extension Duration {
  /// The duration for Dispatch, at least zero and at most a year.
  var interval: DispatchTimeInterval {
    let (seconds, attoseconds) = max(.zero, min(self, .seconds(31_536_000))).components
    return .milliseconds(
      Int(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1))
  }
}
