import Foundation
import Pledge

#if os(macOS) || os(Linux)
  /// The input and the outputs of one process, and whether it has ended.
  ///
  /// `@unchecked Sendable`: after it's added to the hub, only the hub's thread uses it.
  final class PipeJob: @unchecked Sendable {
    fileprivate var input: FileHandle?
    fileprivate var inputBytes: Data
    fileprivate var outputs: [FileHandle?]
    fileprivate var bytes: [Data]
    fileprivate let hasEnded: @Sendable () -> Bool
    fileprivate let completion: @Sendable ([Data]) -> Void
    /// The number of milliseconds until the next check whether the process has ended.
    fileprivate var patience: Int32 = 1

    /// - Parameters:
    ///   - input: The end of a pipe to which `inputBytes` are written.
    ///   - outputs: The ends of the pipes that are read until they are closed.
    ///   - hasEnded: Whether the process has ended; called when all outputs are closed.
    ///   - completion: Receives the bytes of each output when all are closed and `hasEnded` is
    ///     true.
    init(
      input: FileHandle?, inputBytes: Data, outputs: [FileHandle],
      hasEnded: @escaping @Sendable () -> Bool, completion: @escaping @Sendable ([Data]) -> Void
    ) {
      self.input = input
      self.inputBytes = inputBytes
      self.outputs = outputs
      self.hasEnded = hasEnded
      self.completion = completion
      bytes = outputs.map { _ in Data() }
      for handle in outputs + [input].compactMap({ $0 }) { handle.setNonblocking() }
    }
  }

  /// Writes the input and reads the outputs of all processes on one thread.
  ///
  /// It doesn't use dispatch sources: on Linux, cancelling one while its pipe becomes readable can
  /// crash inside libdispatch.
  final class PipeHub: Sendable {
    static let shared = PipeHub()

    private struct State {
      /// The changes that the thread hasn't applied; nil removes the job.
      var changes: [(id: Int, job: PipeJob?)] = []
      var nextID = 0
      /// The end of a pipe that wakes the thread; nil if the thread hasn't been started.
      var alarm: FileHandle?
    }

    private let state = Mutex(State())

    /// Starts the thread if it isn't running; call it under the ``LaunchLock``.
    func start() throws {
      let alarmed: FileHandle? = try state.withLock { state in
        guard state.alarm == nil else { return nil }
        let pipe = try ChildPipe()
        pipe.forReading.setNonblocking()
        pipe.forWriting.setNonblocking()
        state.alarm = pipe.forWriting
        return pipe.forReading
      }
      guard let alarmed else { return }
      let thread = Thread { [self] in run(alarmed) }
      thread.name = "Pledge.Process"
      thread.start()
    }

    /// Adds a job; returns the identifier for ``remove(_:)``.
    func add(_ job: PipeJob) -> Int {
      change { state in
        defer { state.nextID += 1 }
        state.changes.append((state.nextID, job))
        return state.nextID
      }
    }

    /// Removes a job: soon after this call, its pipes are closed and its completion isn't called.
    func remove(_ id: Int) {
      change { $0.changes.append((id, nil)) }
    }

    private func change<R: Sendable>(_ body: @Sendable (inout State) -> R) -> R {
      state.withLock { state in
        defer {
          var byte: UInt8 = 0
          // A full pipe wakes the thread as well.
          if let alarm = state.alarm { _ = write(alarm.fileDescriptor, &byte, 1) }
        }
        return body(&state)
      }
    }

    // MARK: The thread

    private func run(_ alarmed: FileHandle) {
      blockBrokenPipeSignal()
      var jobs: [Int: PipeJob] = [:]
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let changes = state.withLock { state in
          defer { state.changes = [] }
          return state.changes
        }
        for (id, job) in changes { jobs[id] = job }
        wait(for: jobs, alarmed, &buffer)
        for (id, job) in jobs where job.isFinished {
          jobs[id] = nil
          Background.run { job.completion(job.bytes) }
        }
      }
    }

    /// Waits until at least one pipe is ready or a timeout has passed, and serves the pipes.
    private func wait(for jobs: [Int: PipeJob], _ alarmed: FileHandle, _ buffer: inout [UInt8]) {
      var polled = [pollfd(fd: alarmed.fileDescriptor, events: Int16(POLLIN), revents: 0)]
      var actions: [(inout [UInt8]) -> Void] = [{ buffer in drain(alarmed, &buffer) }]
      var timeout: Int32 = -1
      for job in jobs.values {
        if let input = job.input {
          polled.append(pollfd(fd: input.fileDescriptor, events: Int16(POLLOUT), revents: 0))
          actions.append { _ in job.writeInput() }
        }
        for (index, output) in job.outputs.enumerated() {
          guard let output else { continue }
          polled.append(pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0))
          actions.append { buffer in job.readOutput(index, &buffer) }
        }
        if job.isClosed {
          timeout = timeout < 0 ? job.patience : min(timeout, job.patience)
          // The interval grows for a process that continues to run after closing its outputs.
          job.patience = min(job.patience * 2, 50)
        }
      }
      guard poll(&polled, nfds_t(polled.count), timeout) > 0 else { return }
      for (index, entry) in polled.enumerated() where entry.revents != 0 {
        actions[index](&buffer)
      }
    }

    /// Blocks SIGPIPE, so that writing to a process that doesn't read its input fails with EPIPE
    /// instead of ending this process.
    private func blockBrokenPipeSignal() {
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
  }

  private func drain(_ handle: FileHandle, _ buffer: inout [UInt8]) {
    while read(handle.fileDescriptor, &buffer, buffer.count) > 0 {}
  }

  extension PipeJob {
    fileprivate var isClosed: Bool { outputs.allSatisfy { $0 == nil } }
    fileprivate var isFinished: Bool { isClosed && hasEnded() }

    fileprivate func writeInput() {
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

    fileprivate func readOutput(_ index: Int, _ buffer: inout [UInt8]) {
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
