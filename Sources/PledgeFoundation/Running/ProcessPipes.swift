import Foundation

#if os(macOS) || os(Linux)
  /// The pipes between this process and one that it launches; one thread serves them.
  ///
  /// It doesn't use dispatch sources: on Linux, cancelling one while its pipe becomes readable can
  /// crash inside libdispatch.
  ///
  /// `@unchecked Sendable`: the alarm is immutable; only the thread that calls `serve` accesses the rest.
  final class ProcessPipes: @unchecked Sendable {
    /// Its end wakes the thread.
    private let alarm: (forReading: FileHandle, forWriting: FileHandle)
    private var input: FileHandle?
    private var inputBytes: Data
    private var outputs: [FileHandle?]
    private var bytes = [Data(), Data()]

    /// Creates the pipes, and calls `launch` with the other ends: of the standard input if there
    /// are `inputBytes`, the standard output, and the standard error.
    ///
    /// Call it under the ``LaunchLock``: no other process that is launched under it inherits an end.
    init(
      inputBytes: Data?,
      launch: (_ input: FileHandle?, _ output: FileHandle, _ error: FileHandle) throws -> Void
    ) throws {
      alarm = try Self.makePipe()
      let (output, error) = (try Self.makePipe(), try Self.makePipe())
      let input = try inputBytes.map { _ in try Self.makePipe() }
      self.inputBytes = inputBytes ?? Data()
      self.input = input?.forWriting
      outputs = [output.forReading, error.forReading]
      for handle in [output.forReading, error.forReading, self.input].compactMap(\.self) {
        // Reads and writes return EAGAIN instead of blocking.
        let flags = fcntl(handle.fileDescriptor, F_GETFL)
        _ = fcntl(handle.fileDescriptor, F_SETFL, flags | O_NONBLOCK)
      }
      // The process has duplicates; if these stayed open, the pipes would never be closed.
      defer {
        for handle in [output.forWriting, error.forWriting] { try? handle.close() }
        try? input?.forReading.close()
      }
      try launch(input?.forReading, output.forWriting, error.forWriting)
    }

    private static func makePipe() throws -> (forReading: FileHandle, forWriting: FileHandle) {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EMFILE) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      return (
        FileHandle(fileDescriptor: ends[0], closeOnDealloc: true),
        FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
      )
    }

    /// Makes `serve` return soon; its pipes are closed then.
    func stop() { try? alarm.forWriting.close() }

    /// Writes the input, and reads the outputs until they are closed.
    ///
    /// Call it once, on a thread of its own, which it blocks.
    ///
    /// - Parameter hasEnded: Whether the process has ended, so that it reads no more input.
    /// - Returns: The bytes of each output; nil after `stop()`.
    func serve(hasEnded: () -> Bool) -> [Data]? {
      // Writing to a process that doesn't read its input fails with EPIPE instead of ending this
      // process.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)

      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let isClosed = outputs.allSatisfy { $0 == nil }
        if isClosed, input == nil || hasEnded() { return bytes }
        // Negative descriptors are ignored.
        var polled = [alarm.forReading, outputs[0], outputs[1], input].map { handle in
          pollfd(fd: handle?.fileDescriptor ?? -1, events: Int16(POLLIN), revents: 0)
        }
        polled[3].events = Int16(POLLOUT)
        guard poll(&polled, nfds_t(polled.count), isClosed ? 50 : -1) > 0 else { continue }
        if polled[0].revents != 0 { return nil }
        for index in 0...1 where polled[index + 1].revents != 0 { readOutput(index, &buffer) }
        if polled[3].revents != 0 { writeInput() }
      }
    }

    private func writeInput() {
      guard let handle = input else { return }
      let count = inputBytes.withUnsafeBytes { bytes in
        write(handle.fileDescriptor, bytes.baseAddress, bytes.count)
      }
      if count > 0 { inputBytes = inputBytes.dropFirst(count) }
      let isToBeContinued = count >= 0 || errno == EAGAIN || errno == EINTR
      if inputBytes.isEmpty || !isToBeContinued {
        inputBytes = Data()
        try? handle.close()
        input = nil
      }
    }

    private func readOutput(_ index: Int, _ buffer: inout [UInt8]) {
      guard let handle = outputs[index] else { return }
      let count = read(handle.fileDescriptor, &buffer, buffer.count)
      if count > 0 {
        bytes[index].append(contentsOf: buffer[..<count])
      } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
        try? handle.close()
        outputs[index] = nil
      }
    }
  }
#endif
