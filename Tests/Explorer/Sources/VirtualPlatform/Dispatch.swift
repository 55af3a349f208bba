import Exploration

// The part of Dispatch that the library uses, on virtual threads and in virtual time.

public final class DispatchQueue: Sendable {
  public enum Attributes: Sendable { case concurrent }

  private let queue: VirtualQueue

  public init(label: String, attributes: Attributes? = nil) {
    queue = VirtualQueue(label: label, isSerial: attributes == nil)
  }

  public static let main = DispatchQueue(label: "main")
  private static let shared = DispatchQueue(label: "global", attributes: .concurrent)
  public static func global() -> DispatchQueue { shared }
  public var label: String { queue.label }
  public func async(execute work: @escaping @Sendable () -> Void) { queue.async(work) }

  /// Adds `work` to the queue, and counts it in `group`.
  ///
  /// Of `flags`, only `barrier` would make a difference, and it isn't supported.
  public func async(
    group: DispatchGroup?, flags: DispatchWorkItemFlags,
    execute work: @escaping @Sendable () -> Void
  ) {
    guard let group else { return queue.async(work) }
    group.enter()
    queue.async {
      work()
      group.leave()
    }
  }

  /// Whether the calling thread runs a block of this queue.
  public var isCurrent: Bool { VirtualQueue.current === queue }
}

/// Counts blocks that haven't ended.
public final class DispatchGroup: Sendable {
  private let pending = Atomic(0)

  public init() {}
  public var isEmpty: Bool { pending.load(ordering: .acquiring) == 0 }
  public func enter() { pending.wrappingAdd(1, ordering: .acquiringAndReleasing) }
  public func leave() { pending.wrappingSubtract(1, ordering: .acquiringAndReleasing) }
}

public struct DispatchWorkItemFlags: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
}

public final class DispatchSemaphore: Sendable {
  private let semaphore: VirtualSemaphore

  public init(value: Int) { semaphore = VirtualSemaphore(value: value) }
  public func wait() { _ = semaphore.wait() }

  @discardableResult
  public func signal() -> Int {
    semaphore.signal()
    return 0
  }
}

public enum DispatchTimeInterval: Sendable {
  case seconds(Int)
  case milliseconds(Int)
  case microseconds(Int)
  case nanoseconds(Int)
  case never
}

// MARK: - Time

/// The continuous clock, which advances only when timers fire.
public enum VirtualClock {
  private static let start = ContinuousClock.now

  public static var now: ContinuousClock.Instant {
    start.advanced(by: .nanoseconds(Int64(clamping: VirtualTime.now)))
  }
}
