import Foundation
import Pledge

#if os(macOS) || os(Linux)
  extension Process {
    /// Runs a program and makes a promise of what it writes.
    ///
    /// ```swift
    /// Process.execute("git", "rev-parse", "HEAD").done { print($0.text) }
    /// ```
    ///
    /// It is launched inside this call. The promise is rejected as that of the method `execute` is,
    /// also if there is no such program, and cancelling it ends the program as described there.
    ///
    /// - Parameters:
    ///   - program: A path, or a name that is looked up in the folders of `PATH`.
    ///   - arguments: The arguments, as the program shall see them: no shell interprets them.
    ///   - input: What the program reads as its standard input; nil leaves it that of this process.
    ///   - acceptsAnyStatus: Whether a status other than 0 is a success as well.
    public static func execute(
      _ program: String, _ arguments: String..., input: Data? = nil,
      acceptsAnyStatus: Bool = false, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Promise<ProcessOutput> {
      let process = Process()
      process.executableURL = locate(program)
      process.arguments = arguments
      return process.execute(
        input: input, acceptsAnyStatus: acceptsAnyStatus, fileID: fileID, line: line)
    }

    /// Launches this process and makes a promise of what it writes.
    ///
    /// The process is launched inside this call. The promise settles when it has ended and nobody,
    /// such as a process that it left running, can write to its output any more. Output of any size
    /// is read as it comes. `standardOutput` and `standardError` are replaced; `terminationHandler`
    /// is called as before.
    ///
    /// The promise is rejected with Foundation's error if the process cannot be launched, and with
    /// ``ProcessError``, which holds the output, if it does not end with status 0.
    ///
    /// **Cancellation.** Cancelling the promise sends SIGTERM to the process, and to those it has
    /// started if it leads a group of its own (as it does on Linux); the promise is rejected with
    /// `CancellationError` at once. What is still there after `gracePeriod` is killed. The process is
    /// reaped when it is gone.
    ///
    /// - Parameters:
    ///   - input: What the process reads as its standard input; nil leaves `standardInput` as it is.
    ///   - acceptsAnyStatus: Whether a status other than 0 is a success as well.
    ///   - gracePeriod: How long after SIGTERM to send SIGKILL; nil for never.
    public func execute(
      input: Data? = nil, acceptsAnyStatus: Bool = false, gracePeriod: Duration? = .seconds(5),
      fileID: StaticString = #fileID, line: UInt = #line
    ) -> Promise<ProcessOutput> {
      let (promise, resolver) = Promise<ProcessOutput>.withResolvers(fileID: fileID, line: line)
      let execution = Execution(self, acceptsAnyStatus, resolver)
      do {
        try execution.launch(input: input)
        resolver.onCancel { execution.stop(gracePeriod: gracePeriod) }
      } catch {
        resolver.reject(error)
      }
      return promise
    }

    private static func locate(_ program: String) -> URL {
      guard !program.contains("/") else { return URL(fileURLWithPath: program) }
      let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
      for folder in path.split(separator: ":") {
        let file = "\(folder)/\(program)"
        if FileManager.default.isExecutableFile(atPath: file) { return URL(fileURLWithPath: file) }
      }
      // Launching it will say that there is no such file.
      return URL(fileURLWithPath: "/usr/bin/\(program)")
    }
  }

  /// A process that runs, and what it has written so far.
  ///
  /// `@unchecked Sendable`: the process is configured before anybody else sees it; what changes is
  /// guarded by `state`.
  private final class Execution: @unchecked Sendable {
    private struct State {
      var ending: ProcessOutput.Ending?
      var outputs: [Data]?
      var reader: OutputReader?
      var killer: Promise<Void>?
    }

    private let process: Process
    private let acceptsAnyStatus: Bool
    private let resolver: Resolver<ProcessOutput>
    private let state = Mutex(State())

    init(
      _ process: Process, _ acceptsAnyStatus: Bool, _ resolver: Resolver<ProcessOutput>
    ) {
      self.process = process
      self.acceptsAnyStatus = acceptsAnyStatus
      self.resolver = resolver
    }

    func launch(input: Data?) throws {
      if process.executableURL == nil {
        // Foundation would stop the program.
        throw PromiseError.invalidArgument("A process without an executableURL cannot be launched.")
      }
      if process.isRunning {
        throw PromiseError.invalidArgument("A process can be launched only once.")
      }
      let inputFile = try input.map(Self.file(holding:))
      let reader = try OutputReader(2)
      process.standardOutput = reader.pipes[0]
      process.standardError = reader.pipes[1]
      if let inputFile { process.standardInput = inputFile }
      defer { try? inputFile?.close() }
      let handler = process.terminationHandler
      process.terminationHandler = { process in
        self.ended(process)
        handler?(process)
      }
      do {
        try withSignalMaskOfMainThread { try process.run() }
      } catch {
        process.terminationHandler = handler
        reader.close()
        throw error
      }
      state.withLock { $0.reader = reader }
      reader.start { outputs in self.settle { $0.outputs = outputs } }
    }

    private func ended(_ process: Process) {
      let status = process.terminationStatus
      let ending: ProcessOutput.Ending =
        process.terminationReason == .uncaughtSignal ? .signal(status) : .exit(status)
      process.terminationHandler = nil
      settle { $0.ending = ending }
    }

    private func settle(_ change: (inout State) -> Void) {
      let (output, killer): (ProcessOutput?, Promise<Void>?) = state.withLock { state in
        change(&state)
        let killer = state.ending == nil ? nil : state.killer
        guard let ending = state.ending, let outputs = state.outputs else { return (nil, killer) }
        state.reader = nil
        let output = ProcessOutput(
          ending: ending, standardOutput: outputs[0], standardError: outputs[1])
        return (output, killer)
      }
      killer?.cancel()
      guard let output else { return }
      if output.isSuccess || acceptsAnyStatus {
        resolver.fulfill(output)
      } else {
        let command = [process.executableURL?.path ?? ""] + (process.arguments ?? [])
        resolver.reject(ProcessError(command: command, output: output))
      }
    }

    func stop(gracePeriod: Duration?) {
      // First, or the process might be faster to end.
      resolver.reject(CancellationError())
      let reader = state.withLock { state in
        defer { state.reader = nil }
        return state.reader
      }
      signal(SIGTERM)
      reader?.stop()
      guard let gracePeriod else { return }
      let killer = Promise<Void>.after(gracePeriod)
        .map(on: .immediate) { self.signal(SIGKILL) }
      killer.cauterize()
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

    /// A file without a name that holds `data`: unlike a pipe it needs no writer.
    private static func file(holding data: Data) throws -> FileHandle {
      let path = FileManager.default.temporaryDirectory
        .appendingPathComponent("\(UUID().uuidString).input")
      defer { try? FileManager.default.removeItem(at: path) }
      try data.write(to: path, options: .withoutOverwriting)
      return try FileHandle(forReadingFrom: path)
    }
  }
#endif
