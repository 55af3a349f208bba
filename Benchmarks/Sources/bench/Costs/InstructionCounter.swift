import Foundation

/// A tool that a command needs and cannot have.
struct ToolError: Error, CustomStringConvertible {
  let description: String
}

/// Runs a program to its end and returns all it wrote.
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
  // This is how `env` says that there is no such program.
  if process.terminationStatus == 127 { throw ToolError(description: "\(name) is not installed") }
  if process.terminationStatus != 0 {
    let call = ([name] + arguments).joined(separator: " ")
    throw ToolError(description: "'\(call)' ended with \(process.terminationStatus):\n\(output)")
  }
  return output
}

/// Counts the instructions of a cell with valgrind: the same number every time, also on a busy
/// machine.
final class InstructionCounter {
  /// A copy of this program without debug information, which valgrind's reader does not survive.
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

  /// The cost of a unit; start-up is the same with twice the work, and so goes away.
  func instructionsPerUnit(
    _ workload: Workload, _ library: String, size: Int, times: Int
  ) throws(ToolError) -> Double {
    let once = try count(workload, library, size: size, times: times)
    let twice = try count(workload, library, size: size, times: 2 * times)
    return Double(twice - once) / Double(times * workload.units(size))
  }

  private func count(
    _ workload: Workload, _ library: String, size: Int, times: Int
  ) throws(ToolError) -> Int {
    let output = try runTool(
      "valgrind",
      [
        "--tool=callgrind", "--callgrind-out-file=/dev/null", program.path, "cell", workload.name,
        library, "--size", "\(size)", "--times", "\(times)",
      ])
    let line = output.split(separator: "\n").first { $0.contains("Collected :") }
    guard let number = line?.split(separator: " ").last.flatMap({ Int($0) }) else {
      throw ToolError(description: "valgrind did not tell the number of instructions:\n\(output)")
    }
    return number
  }
}
