// A stand-in for Apple's module in the availability check: declarations only, and only those that
// the library uses.

public typealias pthread_key_t = UInt
public typealias useconds_t = UInt32
public typealias clockid_t = UInt32

public func pthread_getspecific(_ key: pthread_key_t) -> UnsafeMutableRawPointer? { nil }
@discardableResult
public func pthread_setspecific(_ key: pthread_key_t, _ value: UnsafeRawPointer?) -> Int32 { 0 }
@discardableResult public func pthread_key_create(
  _ key: UnsafeMutablePointer<pthread_key_t>!,
  _ destructor: (@convention(c) (UnsafeMutableRawPointer) -> Void)!
) -> Int32 { 0 }
public func pthread_main_np() -> Int32 { 0 }
@discardableResult public func usleep(_ time: useconds_t) -> Int32 { 0 }
@discardableResult public func sched_yield() -> Int32 { 0 }
@discardableResult
public func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer!, _ count: Int) -> Int { 0 }

public var CLOCK_MONOTONIC_RAW: clockid_t { 4 }
@available(macOS 10.12, iOS 10, tvOS 10, watchOS 3, *)
public func clock_gettime_nsec_np(_ clock: clockid_t) -> UInt64 { 0 }

public typealias pid_t = Int32
public typealias pthread_t = UnsafeMutablePointer<Int>

public func pthread_equal(_ a: pthread_t!, _ b: pthread_t!) -> Int32 { 0 }
public func dlsym(
  _ handle: UnsafeMutableRawPointer!, _ name: UnsafePointer<CChar>!
) -> UnsafeMutableRawPointer! { nil }
public func pthread_self() -> pthread_t { fatalError() }
public func pthread_get_stackaddr_np(_ thread: pthread_t) -> UnsafeMutableRawPointer { fatalError() }
public var errno: Int32 {
  get { 0 }
  set {}
}

@discardableResult
public func rename(_ old: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!) -> Int32 { 0 }
@discardableResult public func pipe(_ ends: UnsafeMutablePointer<Int32>!) -> Int32 { 0 }
public func open(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 { 0 }
@discardableResult public func close(_ descriptor: Int32) -> Int32 { 0 }
@discardableResult
public func read(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer!, _ count: Int) -> Int { 0 }
public func getpid() -> pid_t { 0 }

public var PROT_READ: Int32 { 1 }
public var PROT_WRITE: Int32 { 2 }
public var MAP_PRIVATE: Int32 { 2 }
public var MAP_ANON: Int32 { 0x1000 }
public var MAP_FAILED: UnsafeMutableRawPointer! { nil }
public func mmap(
  _ address: UnsafeMutableRawPointer!, _ size: Int, _ protection: Int32, _ flags: Int32,
  _ descriptor: Int32, _ offset: Int64
) -> UnsafeMutableRawPointer! { nil }
@discardableResult
public func munmap(_ address: UnsafeMutableRawPointer!, _ size: Int) -> Int32 { 0 }
