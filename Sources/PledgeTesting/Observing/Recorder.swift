import Pledge

/// A recorder of events in the order in which they happen, on any thread.
///
/// ```swift
/// let order = Recorder<Int>()
/// let first = promise.done(on: queue) { _ in order.record(1) }
/// let second = promise.done(on: queue) { _ in order.record(2) }
/// try await waitForPromises(first, second)
/// try order.expect([1, 2])
/// ```
public final class Recorder<Event: Sendable>: Sendable {
  private struct State {
    var events: [Event] = []
    /// By the number of events for which they wait.
    var watchers: [Int: [GuaranteeResolver<Void>]] = [:]
  }

  private let state = Mutex(State())

  /// Creates a recorder without events.
  public init() {}

  /// Records `event`.
  public func record(_ event: Event) { append(event) }

  /// Records `event`, and returns the number of events so far.
  @discardableResult
  func append(_ event: Event) -> Int {
    let (count, due) = state.withLock { state in
      state.events.append(event)
      let count = state.events.count
      return (count, state.watchers.removeValue(forKey: count) ?? [])
    }
    for watcher in due { watcher.fulfill() }
    return count
  }

  /// The recorded events, in order.
  public var events: [Event] { state.withLock { $0.events } }

  /// The number of recorded events.
  public var count: Int { state.withLock { $0.events.count } }

  /// Returns a guarantee that is fulfilled when at least `count` events are recorded.
  public func reaches(_ count: Int) -> Guarantee<Void> {
    let (guarantee, resolver) = Guarantee<Void>.withResolvers()
    let isDue = state.withLock { state in
      if state.events.count >= count { return true }
      state.watchers[count, default: []].append(resolver)
      return false
    }
    if isDue { resolver.fulfill() }
    return guarantee
  }
}

extension Recorder where Event: Equatable {
  /// Throws an ``ExpectationError`` unless the recorded events are exactly `events`, in this order.
  public func expect(
    _ events: [Event], fileID: StaticString = #fileID, line: UInt = #line
  ) throws {
    let found = self.events
    if found == events { return }
    throw ExpectationError.mismatch("the events", events, found: found, fileID, line)
  }
}
