import Foundation
import Pledge

#if os(macOS) || os(Linux)
  extension Process {
    /// Runs a program and returns a promise for its output.
    ///
    /// ```swift
    /// Process.execute("git", "rev-parse", "HEAD").done { print($0.text) }
    /// ```
    ///
    /// The program is launched inside this call. The promise is rejected with
    /// ``ProgramNotFoundError`` if there is no such program. For other errors and for cancellation,
    /// see ``execute(input:acceptsAnyStatus:gracePeriod:fileID:line:)-(_,_,Duration?,_,_)``. To limit
    /// the time, add `.timeout(after:)`, which cancels the promise in the same way.
    ///
    /// - Parameters:
    ///   - program: A path, or a name to look up in the folders of `PATH`.
    ///   - arguments: The arguments, as the program receives them: no shell interprets them.
    ///   - directory: The program's working directory; nil for that of this process.
    ///   - environment: The program's environment; nil for that of this process.
    ///   - input: The program's standard input; nil for that of this process.
    ///   - acceptsAnyStatus: Whether a status other than 0 fulfills the promise.
    ///   - fileID: The file to name in reports; the default is the caller's.
    ///   - line: The line to name in reports; the default is the caller's.
    public static func execute(
      _ program: String, _ arguments: String..., directory: URL? = nil,
      environment: [String: String]? = nil, input: Data? = nil,
      acceptsAnyStatus: Bool = false, fileID: StaticString = #fileID, line: UInt = #line
    ) -> Promise<ProcessOutput> {
      let process = Process()
      do {
        process.executableURL = try locate(program)
      } catch {
        return .rejected(error, fileID: fileID, line: line)
      }
      process.arguments = arguments
      if let directory { process.currentDirectoryURL = directory }
      if let environment { process.environment = environment }
      return process.execute(
        input: input, acceptsAnyStatus: acceptsAnyStatus, fileID: fileID, line: line)
    }

    /// Launches this process and returns a promise for its output.
    ///
    /// The process is launched inside this call. The promise settles when the process has ended and
    /// its output is closed, including by processes that it left running. Output of any size is
    /// read as it arrives. `standardOutput` and `standardError` are replaced; `terminationHandler`
    /// is called as before.
    ///
    /// The promise is rejected with Foundation's error if the process cannot be launched, with a
    /// `POSIXError` if there are too few file descriptors, and with ``ProcessError``, which
    /// contains the output, if it doesn't end with status 0.
    ///
    /// **Cancellation.** Cancelling the promise sends SIGTERM to the process and, if the process
    /// leads its own process group (as on Linux), to the processes that it started. The promise is
    /// rejected with `CancellationError` immediately. Processes that are still running after
    /// `gracePeriod` are killed. The process is reaped when it has ended.
    ///
    /// - Parameters:
    ///   - input: The process's standard input, sent through a pipe; nil leaves
    ///     `standardInput` unchanged.
    ///   - acceptsAnyStatus: Whether a status other than 0 fulfills the promise.
    ///   - gracePeriod: The time between SIGTERM and SIGKILL; nil for no SIGKILL.
    ///   - fileID: The file to name in reports; the default is the caller's.
    ///   - line: The line to name in reports; the default is the caller's.
    @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
    public func execute(
      input: Data? = nil, acceptsAnyStatus: Bool = false, gracePeriod: Duration? = .seconds(5),
      fileID: StaticString = #fileID, line: UInt = #line
    ) -> Promise<ProcessOutput> {
      execute(input, acceptsAnyStatus, gracePeriod.map { TimeSpan($0) }, fileID, line)
    }

    /// Launches this process and returns a promise for its output.
    ///
    /// The same as ``execute(input:acceptsAnyStatus:gracePeriod:fileID:line:)-(_,_,Duration?,_,_)``,
    /// for systems without `Duration`.
    @_disfavoredOverload
    public func execute(
      input: Data? = nil, acceptsAnyStatus: Bool = false,
      gracePeriod: DispatchTimeInterval? = .seconds(5),
      fileID: StaticString = #fileID, line: UInt = #line
    ) -> Promise<ProcessOutput> {
      execute(input, acceptsAnyStatus, gracePeriod.map { TimeSpan($0) }, fileID, line)
    }

    private func execute(
      _ input: Data?, _ acceptsAnyStatus: Bool, _ gracePeriod: TimeSpan?, _ fileID: StaticString,
      _ line: UInt
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

    private static func locate(_ program: String) throws(ProgramNotFoundError) -> URL {
      guard !program.contains("/") else {
        // If the file exists but can't be launched, Foundation throws its own error.
        guard FileManager.default.fileExists(atPath: program) else {
          throw ProgramNotFoundError(program: program)
        }
        return URL(fileURLWithPath: program)
      }
      let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
      for folder in path.split(separator: ":") {
        let file = "\(folder)/\(program)"
        if FileManager.default.isExecutableFile(atPath: file) { return URL(fileURLWithPath: file) }
      }
      throw ProgramNotFoundError(program: program)
    }
  }
#endif
