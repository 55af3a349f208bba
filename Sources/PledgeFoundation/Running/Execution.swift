import Foundation
import Pledge

#if os(macOS) || os(Linux)
  /// A process from its launch until it has ended.
  ///
  /// `@unchecked Sendable`: the process is configured before it's shared with another thread;
  /// `state` is a mutex.
  final class Execution: @unchecked Sendable {
    private struct State {
      var ending: ProcessOutput.Ending?
      var pipes: ProcessPipes?
      var killer: Promise<Void>?
    }

    private let process: Process
    private let acceptsAnyStatus: Bool
    private let resolver: Resolver<ProcessOutput>
    private let state = Mutex(State())
    /// Signaled when the ending is known.
    private let isOver = DispatchSemaphore(value: 0)

    init(
      _ process: Process, _ acceptsAnyStatus: Bool, _ resolver: Resolver<ProcessOutput>
    ) {
      self.process = process
      self.acceptsAnyStatus = acceptsAnyStatus
      self.resolver = resolver
    }

    func launch(input: Data?) throws {
      try check()
      let handler = process.terminationHandler
      process.terminationHandler = { process in
        self.ended(Self.ending(of: process))
        process.terminationHandler = nil
        handler?(process)
      }
      do {
        let pipes = try LaunchLock.withLock {
          try ProcessPipes(inputBytes: input) { input, output, error in
            process.standardOutput = output
            process.standardError = error
            if let input { process.standardInput = input }
            try withSignalMaskOfMainThread { try process.run() }
          }
        }
        state.withLock { $0.pipes = pipes }
        let thread = Thread { self.serve(pipes) }
        thread.name = "Pledge.Process"
        thread.start()
      } catch {
        process.terminationHandler = handler
        throw error
      }
    }

    /// Throws an error for mistakes that would crash Foundation, that Foundation would ignore, or
    /// after which it would leave descriptors open.
    private func check() throws {
      guard let program = process.executableURL else {
        throw PromiseError.invalidArgument("A process without an executableURL cannot be launched.")
      }
      if process.isRunning {
        throw PromiseError.invalidArgument("A process can be launched only once.")
      }
      let words = [program.path] + (process.arguments ?? [])
      if let word = words.first(where: { $0.utf8.contains(0) }) {
        throw PromiseError.invalidArgument(
          "\(word.debugDescription) cannot be passed to a process: it contains a NUL character.")
      }
      // On Linux, each launch that fails because of its folder leaves a pair of sockets open, and
      // its error names the program instead of the folder.
      if let folder = process.currentDirectoryURL {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder),
          isFolder.boolValue
        else { throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: folder.path]) }
      }
    }

    /// Serves the pipes, and settles the promise when they are closed and the process has ended.
    private func serve(_ pipes: ProcessPipes) {
      guard let outputs = pipes.serve(hasEnded: { hasEnded() }) else { return }
      _ = hasEnded(blocking: true)
      isOver.wait()
      // Handlers in place don't run with the signal mask of this thread.
      Background.run { self.settle(outputs) }
    }

    private static func ending(of process: Process) -> ProcessOutput.Ending {
      let status = process.terminationStatus
      return process.terminationReason == .uncaughtSignal ? .signal(status) : .exit(status)
    }

    private func ended(_ ending: ProcessOutput.Ending) {
      let killer = state.withLock { state in
        if state.ending == nil { isOver.signal() }
        state.ending = state.ending ?? ending
        return state.killer
      }
      killer?.cancel()
    }

    /// Returns whether the process has ended, according to the kernel.
    ///
    /// On Linux, Foundation notices the end only when all processes that inherited its socket have
    /// ended, including daemons. This method therefore asks the kernel, without reaping the
    /// process, which Foundation does later. It doesn't block if Foundation has done that.
    private func hasEnded(blocking: Bool = false) -> Bool {
      if state.withLock({ $0.ending != nil }) { return true }
      #if os(Linux)
        var info = siginfo_t()
        let identifier = id_t(process.processIdentifier)
        let options = WEXITED | WNOWAIT | (blocking ? 0 : WNOHANG)
        var result: Int32
        repeat {
          result = waitid(P_PID, identifier, &info, options)
        } while result != 0
          && errno == EINTR
        guard result == 0, info.si_signo == SIGCHLD else { return false }
        let status = info._sifields._sigchld.si_status
        ended(Int(info.si_code) == Int(CLD_EXITED) ? .exit(status) : .signal(status))
        return true
      #else
        return false
      #endif
    }

    private func settle(_ outputs: [Data]) {
      guard let ending = state.withLock({ $0.ending }) else { return }
      let output = ProcessOutput(
        ending: ending, standardOutput: outputs[0], standardError: outputs[1])
      if output.isSuccess || acceptsAnyStatus {
        resolver.fulfill(output)
      } else {
        let command = [process.executableURL?.path ?? ""] + (process.arguments ?? [])
        resolver.reject(ProcessError(command: command, output: output))
      }
    }

    func stop(gracePeriod: TimeSpan?) {
      // Rejects the promise first; otherwise, the end of the process could settle it.
      resolver.reject(CancellationError())
      signal(SIGTERM)
      state.withLock { $0.pipes }?.stop()
      guard let gracePeriod else { return }
      let killer = Promise<Void>.after(gracePeriod, .continuous)
        .map(on: .immediate) { self.signal(SIGKILL) }
      killer.ignoreErrors()
      let isTooLate = state.withLock { state in
        state.killer = killer
        return state.ending != nil
      }
      if isTooLate { killer.cancel() }
    }

    private func signal(_ number: Int32) {
      guard state.withLock({ $0.ending == nil }) else { return }
      let identifier = process.processIdentifier
      guard identifier > 0 else { return }
      _ = kill(getpgid(identifier) == identifier ? -identifier : identifier, number)
    }
  }
#endif
