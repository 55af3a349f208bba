// A stand-in for Apple's module in the availability check: declarations only, and only those that
// the library uses.

public struct os_unfair_lock_s { public init() {} }
public typealias os_unfair_lock = os_unfair_lock_s

@available(macOS 10.12, iOS 10, tvOS 10, watchOS 3, *)
public func os_unfair_lock_lock(_ lock: UnsafeMutablePointer<os_unfair_lock_s>) {}
@available(macOS 10.12, iOS 10, tvOS 10, watchOS 3, *)
public func os_unfair_lock_unlock(_ lock: UnsafeMutablePointer<os_unfair_lock_s>) {}
