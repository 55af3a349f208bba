import Foundation

#if os(macOS) || os(Linux)
  /// The result of a process.
  public struct ProcessOutput: Sendable, Hashable {
    /// How a process ended.
    public enum Ending: Sendable, Hashable {
      /// The process exited with this status.
      case exit(Int32)
      /// This signal ended the process.
      case signal(Int32)
    }

    /// How the process ended.
    public let ending: Ending
    /// The data that the process wrote to its standard output.
    public let standardOutput: Data
    /// The data that the process wrote to its standard error.
    public let standardError: Data

    /// Creates the result of a process, for example for a test.
    public init(ending: Ending, standardOutput: Data = Data(), standardError: Data = Data()) {
      self.ending = ending
      self.standardOutput = standardOutput
      self.standardError = standardError
    }

    /// The exit status as a shell reports it: 128 plus the signal number if a signal ended the
    /// process.
    public var status: Int32 {
      switch ending {
      case .exit(let status): status
      case .signal(let signal): 128 + signal
      }
    }

    /// Whether the process exited with status 0.
    public var isSuccess: Bool { ending == .exit(0) }

    /// The standard output as text, without trailing line breaks.
    ///
    /// Bytes that aren't UTF-8 become replacement characters.
    public var text: String { Self.text(standardOutput) }

    /// The standard error as text, without trailing line breaks.
    ///
    /// Bytes that aren't UTF-8 become replacement characters.
    public var errorText: String { Self.text(standardError) }

    private static func text(_ data: Data) -> String {
      let end = data.lastIndex { $0 != 0x0A && $0 != 0x0D }.map { $0 + 1 } ?? data.startIndex
      return String(decoding: data[..<end], as: UTF8.self)
    }
  }

  /// The error of a process that didn't end with status 0.
  public struct ProcessError: Error, Sendable, CustomStringConvertible {
    /// The program and its arguments.
    public let command: [String]
    /// How the process ended, and its output.
    public let output: ProcessOutput

    /// Creates the error for `command` with its output.
    public init(command: [String], output: ProcessOutput) {
      self.command = command
      self.output = output
    }

    /// A description of how the process ended, with the last line of its standard error.
    public var description: String {
      let name = command.first ?? "A process"
      let ending =
        switch output.ending {
        case .exit(let status): "ended with status \(status)"
        case .signal(let signal): "was ended by signal \(signal)"
        }
      let last = output.errorText.split(whereSeparator: \.isNewline).last
      return "\(name) \(ending)" + (last.map { ": \($0)" } ?? ".")
    }
  }

  /// The error for a program that doesn't exist.
  public struct ProgramNotFoundError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The requested path or name.
    public let program: String

    /// Creates the error for `program`.
    public init(program: String) { self.program = program }

    /// A description that states where the program was searched.
    public var description: String {
      program.contains("/")
        ? "There is no program at \(program)."
        : "There is no program \"\(program)\" in the folders of PATH."
    }
  }
#endif
