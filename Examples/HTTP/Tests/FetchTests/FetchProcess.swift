import Foundation
import Testing

/// The program `fetch`, run in a separate process, without the proxies of the environment.
struct FetchProcess {
  struct Ending {
    let status: Int32
    let output: String
  }

  private let process = Process()
  private let logs = ScratchFolder()

  /// Starts `fetch` with `arguments` in `folder`, from a shell that first runs `setup`.
  init(_ arguments: [String], in folder: ScratchFolder, setup: String = "true") throws {
    try Data().write(to: logs.file("log"))
    let log = try FileHandle(forWritingTo: logs.file("log"))
    // The tests and the program are in the same folder.
    let tests = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    let command = #"unset http_proxy https_proxy all_proxy no_proxy; \#(setup) && exec "$0" "$@""#
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments =
      ["-c", command, tests.appending(component: "fetch").path(percentEncoded: false)] + arguments
    process.currentDirectoryURL = folder.url
    process.standardOutput = log
    process.standardError = log
    try process.run()
  }

  var isRunning: Bool { process.isRunning }

  /// Sends SIGINT, as Ctrl-C does, or another signal.
  func send(_ signal: Int32 = SIGINT) { _ = kill(process.processIdentifier, signal) }

  /// Waits until the process has ended.
  func ending() async throws -> Ending {
    let process = process
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        process.waitUntilExit()
        continuation.resume()
      }
    }
    return Ending(status: process.terminationStatus, output: try logs.text("log"))
  }
}

extension ScratchFolder {
  /// Runs `fetch` in this folder until it ends, and returns its output; records an issue if it
  /// doesn't end with `status`.
  @discardableResult
  func fetch(
    _ arguments: [String], setup: String = "true", status: Int32 = 0,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> String {
    let ending = try await FetchProcess(arguments, in: self, setup: setup).ending()
    #expect(ending.status == status, "\(ending.output)", sourceLocation: sourceLocation)
    return ending.output
  }
}
