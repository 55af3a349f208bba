import Dispatch
import Pledge
import PledgeDiagnostics

/// Waits until all of `promises` have settled.
///
/// Settled is enough: a rejection is as good as a value, and does not count as handled. Throws an
/// ``ExpectationFailure`` that lists the promises still pending when `limit` is over; if a `Trace` is
/// on, with what they wait for.
public func waitForPromises<each T: Sendable>(
  _ promises: repeat Promise<each T>, within limit: Duration = .seconds(30),
  fileID: StaticString = #fileID, line: UInt = #line
) async throws {
  let watch = Watch(limit: limit)
  repeat watch.add(each promises)
  try await watch.wait(Origin(fileID: fileID, line: line))
}

/// Waits until all of `promises` have settled.
///
/// Settled is enough: a rejection is as good as a value, and does not count as handled. Throws an
/// ``ExpectationFailure`` that lists the promises still pending when `limit` is over; if a `Trace` is
/// on, with what they wait for.
public func waitForPromises<T: Sendable>(
  _ promises: some Sequence<Promise<T>>, within limit: Duration = .seconds(30),
  fileID: StaticString = #fileID, line: UInt = #line
) async throws {
  let watch = Watch(limit: limit)
  for promise in promises { watch.add(promise) }
  try await watch.wait(Origin(fileID: fileID, line: line))
}

/// Blocks the calling thread until all of `promises` have settled.
///
/// For tests that are not asynchronous. What the promises need in order to settle must not run on
/// this thread.
@available(*, noasync, message: "blocks a thread; use `try await waitForPromises`")
public func blockForPromises<T: Sendable>(
  _ promises: some Sequence<Promise<T>>, within limit: Duration = .seconds(30),
  fileID: StaticString = #fileID, line: UInt = #line
) throws {
  let watch = Watch(limit: limit)
  for promise in promises { watch.add(promise) }
  try watch.block(Origin(fileID: fileID, line: line))
}

/// Waits for promises of any type, for a limited time.
///
/// Keeps its time by a queue of Dispatch, and not by the library's timers, which may be what is
/// under test.
final class Watch {
  private let limit: Duration
  private var states: [@Sendable () -> (description: String, isPending: Bool)] = []
  private let group = DispatchGroup()

  init(limit: Duration) { self.limit = limit }

  func add(_ promise: Promise<some Sendable>) {
    states.append { (promise.description, promise.isPending) }
    group.enter()
    let group = group
    // `tap` only looks: the error stays as unhandled as it was.
    _ = promise.tap(on: .immediate) { _ in group.leave() }
  }

  func wait(_ origin: Origin) async throws {
    await withCheckedContinuation { continuation in
      let once = CallCounter()
      let timeout = DispatchWorkItem { if once.call() == 1 { continuation.resume() } }
      DispatchQueue.global().asyncAfter(deadline: .now() + limit.interval, execute: timeout)
      // Cancelled through a box, as work items are not Sendable.
      let box = UncheckedBox(timeout)
      group.notify(queue: .global()) {
        box.content.cancel()
        if once.call() == 1 { continuation.resume() }
      }
    }
    try check(origin)
  }

  @available(*, noasync)
  func block(_ origin: Origin) throws {
    _ = group.wait(timeout: .now() + limit.interval)
    try check(origin)
  }

  private func check(_ origin: Origin) throws {
    let pending = states.enumerated().compactMap { index, state in
      let now = state()
      return now.isPending ? "no. \(index + 1) \(now.description)" : nil
    }
    guard !pending.isEmpty else { return }
    let list = pending.joined(separator: ", ")
    throw ExpectationFailure(
      "\(pending.count) of \(states.count) promises had not settled within \(limit): \(list)",
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

extension Duration {
  /// The duration for Dispatch, at most a year.
  var interval: DispatchTimeInterval {
    let (seconds, attoseconds) = min(self, .seconds(31_536_000)).components
    return .nanoseconds(Int(seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
  }
}
