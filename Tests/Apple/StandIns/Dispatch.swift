// A stand-in for Apple's module in the availability check: declarations only, and only those that
// the library uses.

open class DispatchObject {
  init() {}
  public func resume() {}
}

public struct DispatchQoS: Equatable, Sendable {
  public enum QoSClass: Sendable {
    case background, utility, `default`, userInitiated, userInteractive, unspecified
  }
  public let qosClass: QoSClass
  public static var `default`: DispatchQoS { DispatchQoS(qosClass: .default) }
  public static var userInitiated: DispatchQoS { DispatchQoS(qosClass: .userInitiated) }
  public static var unspecified: DispatchQoS { DispatchQoS(qosClass: .unspecified) }
}

public struct DispatchWorkItemFlags: OptionSet, RawRepresentable, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let detached = DispatchWorkItemFlags(rawValue: 2)
}

public class DispatchWorkItem: @unchecked Sendable {
  public init(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
    block: @escaping @convention(block) () -> Void
  ) {}
  public func perform() {}
  public func cancel() {}
}

public final class DispatchSpecificKey<T>: @unchecked Sendable { public init() {} }

public final class DispatchGroup: DispatchObject, @unchecked Sendable {
  public override init() { super.init() }
  public func enter() {}
  public func leave() {}
  public func wait() {}
  public func wait(timeout: DispatchTime) -> DispatchTimeoutResult { .success }
}

open class DispatchQueue: DispatchObject, @unchecked Sendable {
  public struct Attributes: OptionSet, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static let concurrent = Attributes(rawValue: 2)
  }
  public enum AutoreleaseFrequency: Sendable { case inherit, workItem, never }

  override init() { super.init() }
  public convenience init(
    label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = [],
    autoreleaseFrequency: AutoreleaseFrequency = .inherit, target: DispatchQueue? = nil
  ) { self.init() }

  public class var main: DispatchQueue { fatalError() }
  public class func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue { fatalError() }
  public class func getSpecific<T>(key: DispatchSpecificKey<T>) -> T? { nil }
  public func setSpecific<T>(key: DispatchSpecificKey<T>, value: T?) {}
  public var label: String { "" }
  public func async(execute workItem: DispatchWorkItem) {}
  public func async(group: DispatchGroup, execute workItem: DispatchWorkItem) {}
  @preconcurrency public func async(
    group: DispatchGroup? = nil, qos: DispatchQoS = .unspecified,
    flags: DispatchWorkItemFlags = [],
    execute work: @escaping @Sendable @convention(block) () -> Void
  ) {}
  public func asyncAfter(deadline: DispatchTime, execute: DispatchWorkItem) {}
  @preconcurrency public func asyncAfter(
    deadline: DispatchTime, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
    execute work: @escaping @Sendable @convention(block) () -> Void
  ) {}
  public func sync<T>(execute work: () throws -> T) rethrows -> T { try work() }
  public func sync<T>(flags: DispatchWorkItemFlags, execute work: () throws -> T) rethrows -> T {
    try work()
  }
}

public enum DispatchTimeoutResult: Sendable { case success, timedOut }

public enum DispatchTimeInterval: Equatable, Sendable {
  case seconds(Int)
  case milliseconds(Int)
  case microseconds(Int)
  case nanoseconds(Int)
  case never
}

public struct DispatchTime: Comparable, Sendable {
  public let rawValue: UInt64
  public static func now() -> DispatchTime { fatalError() }
  public static func < (a: DispatchTime, b: DispatchTime) -> Bool { a.rawValue < b.rawValue }
}

public struct DispatchWallTime: Comparable, Sendable {
  public let rawValue: UInt64
  public static func now() -> DispatchWallTime { fatalError() }
  public static func < (a: DispatchWallTime, b: DispatchWallTime) -> Bool {
    a.rawValue < b.rawValue
  }
}

public func + (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime { time }
public func + (time: DispatchTime, seconds: Double) -> DispatchTime { time }
public func + (time: DispatchWallTime, interval: DispatchTimeInterval) -> DispatchWallTime { time }

public class DispatchSemaphore: DispatchObject, @unchecked Sendable {
  public init(value: Int) { super.init() }
  @discardableResult public func signal() -> Int { 0 }
  public func wait() {}
  public func wait(timeout: DispatchTime) -> DispatchTimeoutResult { .success }
}

public protocol DispatchSourceProtocol: AnyObject {
  func setEventHandler(
    qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: (@convention(block) () -> Void)?)
  func activate()
  func resume()
  func cancel()
  var data: UInt { get }
  var isCancelled: Bool { get }
}

extension DispatchSourceProtocol {
  public func setEventHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
    handler: (@convention(block) () -> Void)?
  ) {}
}

public protocol DispatchSourceTimer: DispatchSourceProtocol {}

extension DispatchSourceTimer {
  public func schedule(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never,
    leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {}
  public func schedule(
    wallDeadline: DispatchWallTime, repeating: DispatchTimeInterval = .never,
    leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {}
}

public class DispatchSource: DispatchObject {
  public struct TimerFlags: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }
  public class func makeTimerSource(
    flags: TimerFlags = [], queue: DispatchQueue? = nil
  ) -> any DispatchSourceTimer { fatalError() }
}

public enum DispatchPredicate { case onQueue(DispatchQueue) }
public func dispatchPrecondition(condition: @autoclosure () -> DispatchPredicate) {}
