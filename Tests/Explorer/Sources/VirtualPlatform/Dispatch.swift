import Exploration

// The part of Dispatch that the library uses, on virtual threads and in virtual time.

public final class DispatchQueue: Sendable {
  public enum Attributes: Sendable { case concurrent }

  private let queue: VirtualQueue
  private let marks = Mutex<[ObjectIdentifier: Bool]>([:])

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

  fileprivate var virtual: VirtualQueue { queue }

  public func setSpecific(key: DispatchSpecificKey<Void>, value: Void?) {
    let identity = ObjectIdentifier(key)
    marks.withLock { $0[identity] = true }
    key.queue = value == nil ? nil : queue
  }

  public func getSpecific(key: DispatchSpecificKey<Void>) -> Void? {
    key.queue === queue ? () : nil
  }

  public static func getSpecific(key: DispatchSpecificKey<Void>) -> Void? {
    guard let current = VirtualQueue.current else { return nil }
    return key.queue === current ? () : nil
  }
}

/// A key that is set on one queue.
///
/// `@unchecked Sendable`: set once, before any run.
public final class DispatchSpecificKey<T>: @unchecked Sendable {
  fileprivate var queue: VirtualQueue?
  public init() {}
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

  public func wait(timeout: DispatchTime) -> DispatchTimeoutResult {
    let now = VirtualTime.now
    let limit = timeout.uptimeNanoseconds > now ? timeout.uptimeNanoseconds - now : 0
    return semaphore.wait(limit: limit) ? .success : .timedOut
  }

  @discardableResult
  public func signal() -> Int {
    semaphore.signal()
    return 0
  }
}

public enum DispatchTimeoutResult: Sendable { case success, timedOut }

public enum DispatchTimeInterval: Sendable {
  case seconds(Int)
  case milliseconds(Int)
  case microseconds(Int)
  case nanoseconds(Int)
  case never

  var inNanoseconds: UInt64 {
    switch self {
    case .seconds(let count): UInt64(max(count, 0)) &* 1_000_000_000
    case .milliseconds(let count): UInt64(max(count, 0)) &* 1_000_000
    case .microseconds(let count): UInt64(max(count, 0)) &* 1_000
    case .nanoseconds(let count): UInt64(max(count, 0))
    case .never: .max / 2
    }
  }
}

public struct DispatchTime: Sendable {
  public var uptimeNanoseconds: UInt64
  public static func now() -> DispatchTime { DispatchTime(uptimeNanoseconds: VirtualTime.now) }
  public static func + (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime {
    DispatchTime(uptimeNanoseconds: time.uptimeNanoseconds &+ interval.inNanoseconds)
  }
}

public protocol DispatchSourceTimer: AnyObject, Sendable {
  func setEventHandler(handler: @escaping @Sendable () -> Void)
  func schedule(deadline: DispatchTime, leeway: DispatchTimeInterval)
  func activate()
  func cancel()
}

public enum DispatchSource {
  public static func makeTimerSource(queue: DispatchQueue) -> any DispatchSourceTimer {
    TimerSource(queue.virtual)
  }

  /// `@unchecked Sendable`: configured by one thread, and then used under its owner's lock.
  private final class TimerSource: DispatchSourceTimer, @unchecked Sendable {
    private let queue: VirtualQueue
    private var handler: (@Sendable () -> Void)?
    private lazy var timer = VirtualTimer(queue: queue) { [self] in handler?() }

    init(_ queue: VirtualQueue) { self.queue = queue }

    func setEventHandler(handler: @escaping @Sendable () -> Void) { self.handler = handler }
    func activate() {}
    func schedule(deadline: DispatchTime, leeway: DispatchTimeInterval) {
      let now = VirtualTime.now
      timer.arm(after: deadline.uptimeNanoseconds > now ? deadline.uptimeNanoseconds - now : 0)
    }
    func cancel() {
      timer.cancel()
      handler = nil
    }
  }
}

// MARK: - Time

/// The continuous clock, which advances only when timers fire.
public enum VirtualClock {
  private static let start = ContinuousClock.now

  public static var now: ContinuousClock.Instant {
    start.advanced(by: .nanoseconds(Int64(clamping: VirtualTime.now)))
  }
}
