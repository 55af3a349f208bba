import Foundation
import Pledge

/// An error for a tool that a command needs and that isn't available.
struct ToolError: Error, CustomStringConvertible { let description: String }

/// Runs a program until it exits, and returns its output.
func runTool(_ name: String, _ arguments: [String]) throws(ToolError) -> String {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = [name] + arguments
  let pipe = Pipe()
  process.standardOutput = pipe
  process.standardError = pipe
  do { try process.run() } catch { throw ToolError(description: "cannot run env: \(error)") }
  let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  // `env` exits with this status if the program doesn't exist.
  if process.terminationStatus == 127 { throw ToolError(description: "\(name) is not installed") }
  if process.terminationStatus != 0 {
    let call = ([name] + arguments).joined(separator: " ")
    throw ToolError(description: "'\(call)' ended with \(process.terminationStatus):\n\(output)")
  }
  return output
}

/// Counts the instructions of a cell with valgrind, whose count is repeatable even on a busy
/// machine.
final class InstructionCounter: Sendable {
  /// A copy of this program without debug information, which valgrind can't read.
  private let program: URL

  init() throws(ToolError) {
    do throws(ToolError) {
      _ = try runTool("valgrind", ["--version"])
    } catch {
      throw ToolError(
        description: """
          Counting instructions takes valgrind, and \(error.description). \
          On Debian or Ubuntu: apt-get install valgrind
          """)
    }
    program = FileManager.default.temporaryDirectory
      .appendingPathComponent("bench-\(ProcessInfo.processInfo.processIdentifier)")
    _ = try runTool("strip", ["-g", "-o", program.path, ownExecutable().path])
  }

  deinit { try? FileManager.default.removeItem(at: program) }

  /// Returns the cost of a unit, without startup.
  ///
  /// Startup costs the same with twice the work, so it isn't part of the difference. The two runs take
  /// place at the same time, which doesn't affect the counts.
  func instructionsPerUnit(
    _ workload: Workload, _ library: String, size: Int, times: Int
  ) throws -> Double {
    let counts = [times, 2 * times].map { times in
      Promise.value(workload.name).map(on: .global) { name in
        try self.count(name, library, size: size, times: times)
      }
    }
    let (once, twice) = try Promise.all(counts[0], counts[1]).wait()
    return Double(twice - once) / Double(times * workload.units(size))
  }

  private func count(
    _ workload: String, _ library: String, size: Int, times: Int
  ) throws(ToolError) -> Int {
    let output = try runTool(
      "valgrind",
      [
        "--tool=callgrind", "--callgrind-out-file=/dev/null", program.path, "cell", workload,
        library, "--size", "\(size)", "--times", "\(times)",
      ])
    let line = output.split(separator: "\n").first { $0.contains("Collected :") }
    guard let number = line?.split(separator: " ").last.flatMap({ Int($0) }) else {
      throw ToolError(description: "valgrind did not tell the number of instructions:\n\(output)")
    }
    return number
  }
}
