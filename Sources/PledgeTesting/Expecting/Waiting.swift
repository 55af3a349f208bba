import Pledge
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
  let watch = Watch(limit: limit)
  repeat watch.add(each promises)
  try await watch.wait(fileID, line)
}

/// Waits until all promises of a sequence have settled, in the same way as
/// ``waitForPromises(_:within:fileID:line:)-(Promise<T>,_,_,_)``.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func waitForPromises<T: Sendable>(
  _ promises: some Sequence<Promise<T>>, within limit: Duration = .seconds(60),
  fileID: StaticString = #fileID, line: UInt = #line
) async throws {
  let watch = Watch(limit: limit)
  for promise in promises { watch.add(promise) }
  try await watch.wait(fileID, line)
}

/// Waits until `condition` returns true.
///
/// ```swift
/// try await waitUntil { cache.count == 3 }
/// ```
///
/// It checks the condition repeatedly, at first after each turn of the other tasks, and then every
/// few milliseconds. Throws an ``ExpectationError`` if the condition is still false after `limit`,
/// `CancellationError` as soon as the calling task is cancelled, and the errors of `condition`.
///
/// **Execution.** `condition` runs in the isolation of the caller.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
public func waitUntil(
  within limit: Duration = .seconds(60), isolation: isolated (any Actor)? = #isolation,
  fileID: StaticString = #fileID, line: UInt = #line, _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  var checks = 0
  while !(try await condition()) {
    try Task.checkCancellation()
    checks += 1
    if checks < 100 {
      await Task.yield()
    } else if ContinuousClock.now < deadline {
      try await Task.sleep(for: .milliseconds(min(checks / 50, 10)))
    } else {
      throw ExpectationError(
        "Expected the condition to become true within \(limit)", fileID, line,
        pendingTree: Trace.current?.pendingTree().description)
    }
  }
}
