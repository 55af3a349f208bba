import Pledge

/// A counter of objects that are alive, to check that values and closures are released.
///
/// ```swift
/// let lifetimes = LifetimeTracker()
/// _ = promise.map { [token = lifetimes.track()] in use(token, $0) }
/// resolver.fulfill(1)
/// try await lifetimes.expectNoneAlive()
/// ```
public final class LifetimeTracker: Sendable {
  /// An object that its tracker counts until it is deallocated.
  public final class Token: Sendable {
    /// The name of the object in failures.
    public let label: String
    private let tracker: LifetimeTracker

    fileprivate init(_ label: String, _ tracker: LifetimeTracker) {
      self.label = label
      self.tracker = tracker
    }

    deinit { tracker.remove(label) }
  }

  private struct State {
    var live: [String: Int] = [:]
    var made = 0
  }

  private let state = Mutex(State())

  /// Creates a tracker without objects.
  public init() {}

  /// Creates an object that is counted until it is deallocated.
  ///
  /// Capture it in a closure, or use it as a value.
  public func track(_ label: String = "object") -> Token {
    state.withLock { state in
      state.live[label, default: 0] += 1
      state.made += 1
    }
    return Token(label, self)
  }

  /// The number of objects that are alive.
  public var liveCount: Int { state.withLock { $0.live.values.reduce(0, +) } }

  /// The number of objects that were created.
  public var madeCount: Int { state.withLock { $0.made } }

  /// Waits until no object is alive.
  ///
  /// A handler's closure can be released on another thread, shortly after its promise settles. This
  /// method therefore waits up to `limit`, and then throws an ``ExpectationError`` that names the
  /// objects that are still alive. Throws `CancellationError` as soon as the calling task is
  /// cancelled.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public func expectNoneAlive(
    within limit: Duration = .seconds(60), fileID: StaticString = #fileID, line: UInt = #line
  ) async throws {
    do {
      try await waitUntil(within: limit) { liveCount == 0 }
    } catch is ExpectationError {
      throw failure(fileID, line)
    }
  }

  /// Throws an ``ExpectationError`` if an object is alive now.
  public func expectNoneAliveNow(fileID: StaticString = #fileID, line: UInt = #line) throws {
    if liveCount > 0 { throw failure(fileID, line) }
  }

  private func failure(_ fileID: StaticString, _ line: UInt) -> ExpectationError {
    let live = state.withLock { $0.live }.sorted { $0.key < $1.key }
    return ExpectationError(
      "Expected all tracked objects to be deallocated; still alive: "
        + live.map { "\($0.value) × \($0.key)" }.joined(separator: ", "), fileID, line)
  }

  fileprivate func remove(_ label: String) {
    state.withLock { state in
      let left = state.live[label, default: 1] - 1
      state.live[label] = left > 0 ? left : nil
    }
  }
}
