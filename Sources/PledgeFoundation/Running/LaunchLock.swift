import Foundation
import Pledge

#if os(macOS) || os(Linux)
  /// Serializes what must not happen in two threads at a time while processes are launched.
  enum LaunchLock {
    private static let lock = Mutex<Void>(())

    /// How many descriptors a launch needs: Foundation's socket pair, null devices, our pipes.
    private static let descriptorsPerLaunch = 12

    /// Calls `body`, one caller at a time, if there are descriptors enough for a launch.
    ///
    /// Foundation on Linux does not check whether it got the socket pair by which it watches the
    /// process: without one it watches, and later closes, descriptor 0. From then on no launch of
    /// this program works. So the descriptors are reserved first; without them this throws EMFILE.
    static func withLock<R>(_ body: () throws -> sending R) throws -> sending R {
      try lock.withLock { _ in
        try reserveDescriptors()
        return try body()
      }
    }

    private static func reserveDescriptors() throws {
      var reserved: [Int32] = []
      defer { for descriptor in reserved { close(descriptor) } }
      for _ in 0..<descriptorsPerLaunch {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EMFILE) }
        reserved.append(descriptor)
      }
    }
  }
#endif
