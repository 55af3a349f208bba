// A stand-in for Apple's module in the availability check: declarations only, and only those that
// the library uses.

public final class CFRunLoop {}
public final class CFRunLoopSource {}
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
public func CFRunLoopStop(_ loop: CFRunLoop!) {}
public func CFRunLoopRun() {}
public func CFStringCreateWithCString(
  _ allocator: CFAllocator!, _ text: UnsafePointer<CChar>!, _ encoding: CFStringEncoding
) -> CFString! { nil }
public func CFStringConvertIANACharSetNameToEncoding(_ name: CFString!) -> CFStringEncoding { 0 }
public func CFStringConvertEncodingToNSStringEncoding(_ encoding: CFStringEncoding) -> UInt { 0 }
