// A stand-in for Apple's module in the availability check: declarations only, and only those that
// the library uses.

public final class CFRunLoop {}
public final class CFRunLoopSource {}
public final class CFRunLoopObserver {}
public struct CFRunLoopActivity: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let beforeWaiting = CFRunLoopActivity(rawValue: 1 << 5)
}
public struct CFRunLoopObserverContext { public init() {} }
public final class CFAllocator {}
public final class CFString {}
public typealias CFIndex = Int
public typealias CFStringEncoding = UInt32
public struct CFRunLoopMode: Sendable { public static let defaultMode = CFRunLoopMode() }
public struct CFRunLoopSourceContext { public init() {} }
public enum CFStringBuiltInEncodings: CFStringEncoding, Sendable { case UTF8 = 0x0800_0100 }
public let kCFStringEncodingInvalidId: CFStringEncoding = 0xFFFF_FFFF

public func CFRunLoopGetCurrent() -> CFRunLoop! { nil }
public func CFRunLoopSourceCreate(
  _ allocator: CFAllocator!, _ order: CFIndex,
  _ context: UnsafeMutablePointer<CFRunLoopSourceContext>!
) -> CFRunLoopSource! { nil }
public func CFRunLoopAddSource(
  _ loop: CFRunLoop!, _ source: CFRunLoopSource!, _ mode: CFRunLoopMode!
) {}
public func CFRunLoopRemoveSource(
  _ loop: CFRunLoop!, _ source: CFRunLoopSource!, _ mode: CFRunLoopMode!
) {}
// In Apple's module, the function is one of C.
public func CFRunLoopObserverCreate(
  _ allocator: CFAllocator!, _ activities: UInt, _ repeats: Bool, _ order: CFIndex,
  _ callout: ((CFRunLoopObserver?, CFRunLoopActivity, UnsafeMutableRawPointer?) -> Void)!,
  _ context: UnsafeMutablePointer<CFRunLoopObserverContext>!
) -> CFRunLoopObserver! { nil }
public func CFRunLoopAddObserver(
  _ loop: CFRunLoop!, _ observer: CFRunLoopObserver!, _ mode: CFRunLoopMode!
) {}
public func CFRunLoopRemoveObserver(
  _ loop: CFRunLoop!, _ observer: CFRunLoopObserver!, _ mode: CFRunLoopMode!
) {}
public func CFRunLoopStop(_ loop: CFRunLoop!) {}
public func CFRunLoopRun() {}
public func CFStringCreateWithCString(
  _ allocator: CFAllocator!, _ text: UnsafePointer<CChar>!, _ encoding: CFStringEncoding
) -> CFString! { nil }
public func CFStringConvertIANACharSetNameToEncoding(_ name: CFString!) -> CFStringEncoding { 0 }
public func CFStringConvertEncodingToNSStringEncoding(_ encoding: CFStringEncoding) -> UInt { 0 }
