import Pledge

/// Notes events in the order in which they happen, from any thread.
///
/// ```swift
/// let order = Recorder<Int>()
/// let first = promise.done { _ in order.record(1) }
/// let second = promise.done { _ in order.record(2) }
/// try await waitForPromises(first, second)
/// try order.expect([1, 2])
/// ```
public final class Recorder<Event: Sendable>: Sendable {
  private struct State {
    var events: [Event] = []
    var watchers: [(count: Int, resolver: GuaranteeResolver<Void>)] = []
  }

  private let state = Mutex(State())

  /// Makes a recorder without events.
  public init() {}

  /// Notes that `event` happened.
  public func record(_ event: Event) {
    let due = state.withLock { state in
      state.events.append(event)
      let count = state.events.count
      defer { state.watchers.removeAll { $0.count <= count } }
      return state.watchers.filter { $0.count <= count }.map(\.resolver)
    }
    for watcher in due { watcher.fulfill() }
  }

  /// What happened so far, in order.
  public var events: [Event] { state.withLock { $0.events } }

  /// How much happened so far.
  public var count: Int { state.withLock { $0.events.count } }

  /// A guarantee that is fulfilled when `count` events have happened.
  public func reaches(_ count: Int) -> Guarantee<Void> {
    let (guarantee, resolver) = Guarantee<Void>.withResolvers()
    let isDue = state.withLock { state in
      if state.events.count >= count { return true }
      state.watchers.append((count, resolver))
      return false
    }
    if isDue { resolver.fulfill() }
    return guarantee
  }
}

extension Recorder where Event: Equatable {
  /// Throws an ``ExpectationFailure`` unless just `events` happened, in this order.
  public func expect(
    _ events: [Event], fileID: StaticString = #fileID, line: UInt = #line
  ) throws {
    let found = self.events
    if found == events { return }
    throw ExpectationFailure(
      "Expected the events \(events), found \(found)", origin: Origin(fileID: fileID, line: line))
  }
}

/// Counts calls, from any thread.
public final class CallCounter: Sendable {
  private let calls = Mutex(0)

  /// Makes a counter at zero.
  public init() {}

  /// Counts one call.
  ///
  /// - Returns: Which call it is: 1 for the first.
  @discardableResult
  public func call() -> Int {
    calls.withLock { calls in
      calls += 1
      return calls
    }
  }

  /// How many calls there were.
  public var count: Int { calls.withLock { $0 } }

  /// Throws an ``ExpectationFailure`` unless there was just one call.
  public func expectOnce(fileID: StaticString = #fileID, line: UInt = #line) throws {
    try expect(1, fileID: fileID, line: line)
  }

  /// Throws an ``ExpectationFailure`` unless there was no call.
  public func expectNever(fileID: StaticString = #fileID, line: UInt = #line) throws {
    try expect(0, fileID: fileID, line: line)
  }

  /// Throws an ``ExpectationFailure`` unless there were just `expected` calls.
  public func expect(
    _ expected: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) throws {
    let found = count
    if found == expected { return }
    throw ExpectationFailure(
      "Expected \(expected) calls, counted \(found)", origin: Origin(fileID: fileID, line: line))
  }
}
