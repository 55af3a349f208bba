import Foundation
import PromiseKit

#if os(macOS) || os(Linux)
  extension Process {
    /// Runs the process and returns a promise for its output and error pipes.
    ///
    /// A status other than zero rejects the promise with
    /// ``PMKError/execution(process:standardOutput:standardError:)``.
    public func launch(_: PMKNamespacer) -> Promise<(out: Pipe, err: Pipe)> {
      let (out, err) = (Pipe(), Pipe())
      standardOutput = out
      standardError = err
      do { try run() } catch { return Promise(error: error) }
      return DispatchQueue.global().async(.promise) { () throws -> (out: Pipe, err: Pipe) in
        self.waitUntilExit()
        guard self.terminationReason == .exit, self.terminationStatus == 0 else {
          throw PMKError.execution(
            process: self, standardOutput: Self.text(of: out), standardError: Self.text(of: err))
        }
        return (out, err)
      }
    }

    fileprivate static func text(of pipe: Pipe) -> String? {
      String(data: pipe.fileHandleForReading.readDataToEndOfFile(), encoding: .utf8)
    }

    // `@unchecked Sendable`: the process has ended.
    /// The errors of a process.
    public enum PMKError: @unchecked Sendable {
      /// There is no executable file at this path.
      case notExecutable(String?)
      /// The process ended with a status other than zero, or by a signal; with its output.
      case execution(process: Process, standardOutput: String?, standardError: String?)
    }

    /// The path and the arguments, as in a shell.
    fileprivate var commandLine: String {
      let path = executableURL?.path ?? CommandLine.arguments.first ?? ""
      return ([path] + (arguments ?? [])).map { argument in
        argument.isEmpty || argument.contains(" ") ? "\"\(argument)\"" : argument
      }.joined(separator: " ")
    }

    #if os(macOS)
      /// The path and the arguments, as in a shell.
      open override var description: String { commandLine }
    #endif
  }

  extension Process.PMKError: LocalizedError {
    /// A description of the error.
    public var errorDescription: String? {
      switch self {
      case .notExecutable(let path?): "File not executable: \(path)"
      case .notExecutable(nil): "No launch path specified"
      case .execution(let process, _, _):
        "Failed executing: `\(process.commandLine)` (\(process.terminationStatus))."
      }
    }
  }

  extension Promise where T == (out: Pipe, err: Pipe) {
    /// Prints the output of the process, or the error.
    public func print() -> Promise<T> {
      tap { result in
        switch result {
        case .fulfilled(let pipes):
          Swift.print("stdout: `\(Process.text(of: pipes.out) ?? "")`")
          Swift.print("stderr: `\(Process.text(of: pipes.err) ?? "")`")
        case .rejected(let error): Swift.print(error)
        }
      }
    }
  }
#endif
