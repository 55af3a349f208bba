import Foundation

#if os(macOS) || os(Linux)
  /// A pipe between this process and one that it launches.
  ///
  /// No other process that is launched under the ``LaunchLock`` inherits an end; the process that
  /// uses the pipe receives a duplicate.
  struct ChildPipe {
    let forReading: FileHandle
    let forWriting: FileHandle

    init() throws {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EMFILE) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      forReading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
      forWriting = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    }
  }

  extension FileHandle {
    /// Makes reads and writes return EAGAIN instead of blocking.
    func setNonblocking() {
      let flags = fcntl(fileDescriptor, F_GETFL)
      _ = fcntl(fileDescriptor, F_SETFL, flags | O_NONBLOCK)
    }
  }
#endif
