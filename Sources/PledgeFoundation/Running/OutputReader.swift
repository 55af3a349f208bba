import Foundation
import Pledge

#if os(macOS) || os(Linux)
  /// Reads what comes out of several pipes, whenever something does, on a thread of its own.
  ///
  /// Not with dispatch sources: on Linux, to cancel one while its pipe becomes readable crashes now
  /// and then inside of libdispatch.
  ///
  /// `@unchecked Sendable`: `alarm` is a mutex; the pipes are used by the one thread once it runs.
  final class OutputReader: @unchecked Sendable {
    let pipes: [Pipe]

    /// A pipe that tells the thread to stop by being closed; nil once that has happened.
    private let alarm: Mutex<Int32?>
    private let alarmed: Int32

    /// Makes `count` pipes.
    init(_ count: Int) throws {
      pipes = (0..<count).map { _ in Pipe() }
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
      alarmed = ends[0]
      alarm = Mutex(ends[1])
      var descriptors = ends
      for pipe in pipes {
        descriptors.append(pipe.fileHandleForReading.fileDescriptor)
        descriptors.append(pipe.fileHandleForWriting.fileDescriptor)
      }
      // No process that somebody else launches shall hold the pipes open.
      for descriptor in descriptors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
      guard descriptors.allSatisfy({ $0 >= 0 }) else {
        close()
        throw POSIXError(.EMFILE)
      }
    }

    /// Calls `completion` with the bytes of each pipe when nobody can write any more; not after
    /// `stop`.
    func start(_ completion: @escaping @Sendable ([Data]) -> Void) {
      for pipe in pipes { try? pipe.fileHandleForWriting.close() }
      let thread = Thread { [self] in
        let bytes = readToEnd()
        close()
        if let bytes { completion(bytes) }
      }
      thread.stackSize = 256 * 1024
      thread.name = "Pledge.Process"
      thread.start()
    }

    /// Has the thread close everything and end.
    func stop() {
      alarm.withLock { alarm in
        if let descriptor = alarm { systemClose(descriptor) }
        alarm = nil
      }
    }

    /// Closes everything; for the thread, and for when there is none.
    func close() {
      stop()
      systemClose(alarmed)
      for pipe in pipes {
        try? pipe.fileHandleForReading.close()
        try? pipe.fileHandleForWriting.close()
      }
    }

    /// The bytes of each pipe, or nil if it was stopped.
    private func readToEnd() -> [Data]? {
      var bytes = pipes.map { _ in Data() }
      var buffer = [UInt8](repeating: 0, count: 65_536)
      var polled = pipes.map { pipe in
        pollfd(fd: pipe.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
      }
      polled.append(pollfd(fd: alarmed, events: Int16(POLLIN), revents: 0))
      while polled.dropLast().contains(where: { $0.fd >= 0 }) {
        guard poll(&polled, nfds_t(polled.count), -1) >= 0 else {
          if errno == EINTR { continue }
          return nil
        }
        if polled[pipes.count].revents != 0 { return nil }
        for index in pipes.indices where polled[index].revents != 0 {
          let count = buffer.withUnsafeMutableBytes {
            systemRead(polled[index].fd, $0)
          }
          if count > 0 {
            bytes[index].append(contentsOf: buffer[..<count])
          } else if count == 0 || errno != EINTR {
            // `poll` skips negative descriptors.
            polled[index].fd = -1
          }
        }
      }
      return bytes
    }
  }

  private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
  }

  private func systemClose(_ descriptor: Int32) { close(descriptor) }
#endif
