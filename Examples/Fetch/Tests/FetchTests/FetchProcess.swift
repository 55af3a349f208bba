import Foundation
import Synchronization

/// The program `fetch`, run in a separate process.
struct FetchProcess {
  struct Ending {
    let status: Int32
    let output: String
  }

  private let process = Process()
  private let output: URL

  /// Starts `fetch` with `arguments`, from a shell that first runs `setup`.
  init(_ arguments: [String], in folder: URL, setup: String = "true") throws {
    output = folder.appending(component: "fetch-\(UUID().uuidString).log")
    try Data().write(to: output)
    let log = try FileHandle(forWritingTo: output)
    // The tests and the program are in the same folder.
    let tests = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments =
      [
        "-c", setup + #" && exec "$0" "$@""#,
        tests.appending(component: "fetch").path(percentEncoded: false),
      ]
      + arguments
    process.standardOutput = log
    process.standardError = log
    try process.run()
  }

  var isRunning: Bool { process.isRunning }

  /// Sends SIGKILL, so that the process has no chance to clean up.
  func kill() { _ = Foundation.kill(process.processIdentifier, SIGKILL) }

  /// Sends SIGINT, as Ctrl-C does, or another signal.
  func interrupt(_ signal: Int32 = SIGINT) {
    _ = Foundation.kill(process.processIdentifier, signal)
  }

  /// Waits until the process has ended.
  func ending() async throws -> Ending {
    let process = process
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        process.waitUntilExit()
        continuation.resume()
      }
    }
    return Ending(
      status: process.terminationStatus, output: try String(contentsOf: output, encoding: .utf8))
  }
}
