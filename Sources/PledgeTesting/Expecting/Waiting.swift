@_spi(DropIns) import Pledge
import PledgeDiagnostics

/// Waits until all of `promises` have settled.
///
/// The promises can be fulfilled or rejected; a rejection doesn't count as handled. Throws an
/// ``ExpectationError`` that lists the promises that are still pending after `limit` and, if a `Trace`
/// is recording, what they wait for; throws `CancellationError` as soon as the calling task is
/// cancelled.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func waitForPromises<each T: Sendable>(
  _ promises: repeat Promise<each T>, within limit: Duration = .seconds(60),
  fileID: StaticString = #fileID, line: UInt = #line
) async throws {
  let watch = Watch()
  repeat watch.add(each promises)
  try await watch.wait(limit, fileID, line)
}

/// Waits until all promises of a sequence have settled, in the same way as
/// ``waitForPromises(_:within:fileID:line:)-(Promise<T>,_,_,_)``.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func waitForPromises<T: Sendable>(
  _ promises: some Sequence<Promise<T>>, within limit: Duration = .seconds(60),
  fileID: StaticString = #fileID, line: UInt = #line
) async throws {
  let watch = Watch()
  for promise in promises { watch.add(promise) }
  try await watch.wait(limit, fileID, line)
}

/// Waits until `condition` returns true.
///
/// ```swift
/// try await waitUntil { cache.count == 3 }
/// ```
///
/// It checks the condition repeatedly, every few milliseconds. Throws an ``ExpectationError`` if the
/// condition is still false after `limit`, `CancellationError` as soon as the calling task is
/// cancelled, and the errors of `condition`.
///
/// **Execution.** `condition` runs in the isolation of the caller.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func waitUntil(
  within limit: Duration = .seconds(60), isolation: isolated (any Actor)? = #isolation,
  fileID: StaticString = #fileID, line: UInt = #line, _ condition: () async throws -> Bool
) async throws {
  // Only pauses count, which take longer on a busy machine.
  var (pause, waited) = (Duration.microseconds(50), Duration.zero)
  while !(try await condition()) {
    try Task.checkCancellation()
    if waited >= limit {
      throw ExpectationError(
        "Expected the condition to become true within \(limit)", fileID, line,
        pendingTree: Trace.current?.pendingTree().description)
    }
    try await Task.sleep(for: pause)
    waited += pause
    pause = min(pause * 2, .milliseconds(10))
  }
}

/// Waits for promises of any type, for a limited time.
///
/// `@unchecked Sendable`: only `add` changes `states`, before the watch is shared; the other
/// properties are immutable or thread-safe.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
private final class Watch: @unchecked Sendable {
  private var states: [@Sendable () -> (description: String, isPending: Bool)] = []
  /// The number of promises that haven't settled, and whether the limit was reached.
  private let state = Mutex((pendingCount: 0, isOver: false))
  private let changes = ChangeWaiters()

  func add(_ promise: Promise<some Sendable>) {
    states.append { (promise.description, promise.isPending) }
    state.withLock { $0.pendingCount += 1 }
    // `tap` doesn't handle the error. A promise that never settles must not retain the others.
    _ = promise.tap(on: .immediate) { [weak self] _ in
      self?.state.withLock { $0.pendingCount -= 1 }
      self?.changes.tell()
    }
  }

  /// Waits for the promises.
  ///
  /// Throws an ``ExpectationError`` when the limit is reached, and `CancellationError` as soon as the
  /// task is cancelled.
  func wait(_ limit: Duration, _ fileID: StaticString, _ line: UInt) async throws {
    // In parts, each of which needs a thread: tests that run in parallel can block all threads of
    // Swift's tasks for a minute, during which the work that settles the promises can't start.
    let part = min(max(limit, .zero), .seconds(31_536_000)) / 20
    let timer = Task.detached { [self] in
      for _ in 0..<20 { try await Task.sleep(for: part) }
      state.withLock { $0.isOver = true }
      changes.tell()
    }
    defer { timer.cancel() }
    await changes.wait { [self] in state.withLock { $0.isOver || $0.pendingCount == 0 } }
    if state.withLock({ $0.pendingCount > 0 }) { try Task.checkCancellation() }
    try check(limit, fileID, line)
  }

  private func check(_ limit: Duration, _ fileID: StaticString, _ line: UInt) throws {
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
