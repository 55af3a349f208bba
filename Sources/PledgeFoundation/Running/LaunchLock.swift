import Foundation
import Pledge

#if os(macOS) || os(Linux)
  /// Serializes the launches of processes.
  enum LaunchLock {
    private static let lock = Mutex<Void>(())

    /// The number of descriptors for a launch: Foundation's socket pair, null devices, and the
    /// pipes.
    private static let descriptorsPerLaunch = 14

    /// Calls `body`, one call at a time, if there are enough descriptors for a launch.
    ///
    /// Foundation on Linux doesn't check whether it could create the socket pair with which it
    /// monitors the process: without one, it monitors, and later closes, descriptor 0, and no later
    /// launch succeeds. This method therefore checks that enough descriptors can be opened, and
    /// throws EMFILE otherwise.
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
