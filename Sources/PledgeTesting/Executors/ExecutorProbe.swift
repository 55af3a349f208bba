import Dispatch
import Pledge

/// A check of whether the calling code runs on a specific executor.
///
/// ```swift
/// let probe = ExecutorProbe(queue)
/// let promise = Promise.value(1).done(on: queue) { _ in try probe.expectCurrent() }
/// try await expectFulfillment(of: promise)
/// ```
public struct ExecutorProbe: Sendable {
  /// `@unchecked Sendable`: immutable, and Dispatch only compares it; not all SDKs declare that.
  private struct Mark: @unchecked Sendable {
    let key = DispatchSpecificKey<Void>()
  }

  private let name: String
  private let check: @Sendable () -> Bool

  /// Creates a probe for an executor.
  ///
  /// `isCurrent` is called to check whether the current thread is the executor's.
  public init(name: String, isCurrent: @escaping @Sendable () -> Bool) {
    self.name = name
    check = isCurrent
  }

  /// Creates a probe for `queue` and the queues that have it as a target.
  public init(_ queue: DispatchQueue) {
    let mark = Mark()
    queue.setSpecific(key: mark.key, value: ())
    self.init(name: "the queue \(queue.label)") { DispatchQueue.getSpecific(key: mark.key) != nil }
  }

  /// Creates a probe for `executor`.
  public init(_ executor: ManualExecutor) {
    self.init(name: "the manual executor") { executor.isCurrent }
  }

  /// Whether the calling code runs on the executor.
  public var isCurrent: Bool { check() }

  /// Throws an ``ExpectationError`` unless the calling code runs on the executor.
  public func expectCurrent(fileID: StaticString = #fileID, line: UInt = #line) throws {
    if check() { return }
    throw ExpectationError("Expected to run on \(name)", fileID, line)
  }
}

extension ExecutorProbe {
  /// A probe for the main actor, which runs on the main queue.
  public static let main = ExecutorProbe(DispatchQueue.main)
}
