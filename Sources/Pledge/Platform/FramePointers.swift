import Builtin

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#endif

/// Reads the return addresses on a thread's call stack.
///
/// Swift keeps frame pointers. C functions without them, and asynchronous frames, leave other values
/// in the register, so each is used only if it lies on the thread's stack, above the previous one:
/// memory that is always readable.
package enum FramePointers {
  /// The end of the current thread's stack; zero if it's unknown, so that no address is read.
  package static var endOfStack: UInt {
    #if canImport(Darwin)
      return UInt(bitPattern: pthread_get_stackaddr_np(pthread_self()))
    #elseif canImport(Glibc)
      typealias Function = @convention(c) (pthread_t, UnsafeMutablePointer<pthread_attr_t>) -> Int32
      var attributes = pthread_attr_t()
      // Looked up by name, because the C library's module doesn't declare it.
      guard let symbol = dlsym(nil, "pthread_getattr_np"),
        unsafeBitCast(symbol, to: Function.self)(pthread_self(), &attributes) == 0
      else { return 0 }
      defer { pthread_attr_destroy(&attributes) }
      var (start, size) = (UnsafeMutableRawPointer(bitPattern: 0), 0)
      guard pthread_attr_getstack(&attributes, &start, &size) == 0 else { return 0 }
      return UInt(bitPattern: start) + UInt(size)
    #else
      return 0
    #endif
  }

  /// Writes the return addresses of the callers to `addresses`, innermost first.
  ///
  /// - Returns: The number of addresses.
  @inline(never)
  package static func read(
    into addresses: UnsafeMutablePointer<UInt>, capacity: Int, endOfStack: UInt
  ) -> Int {
    var frame = UInt(Builtin.ptrtoint_Word(framePointer))
    var count = 0
    while count < capacity, frame &+ 16 <= endOfStack, frame % 8 == 0,
      let words = UnsafePointer<UInt>(bitPattern: frame)
    {
      addresses[count] = words[1]
      count += 1
      // This bit marks the frames of asynchronous functions.
      let outer = words[0] & ~(1 << 60)
      guard outer > frame else { break }
      frame = outer
    }
    return count
  }

  @inline(__always)
  private static var framePointer: Builtin.RawPointer {
    Builtin.int_frameaddress_RawPointer(Builtin.zeroInitializer() as Builtin.Int32)
  }
}
