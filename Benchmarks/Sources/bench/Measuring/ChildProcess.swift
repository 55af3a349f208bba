import Foundation
import Pledge

/// A line that a child has written.
struct Event {
  let name: String
  let library: String
  let value: Double

  init?(_ line: Substring) {
    let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
    guard fields.count == 4, fields[0] == "bench" else { return nil }
    (name, library, value) = (String(fields[1]), String(fields[2]), Double(fields[3]) ?? .nan)
  }
}

struct ChildFailure: Error { let reason: String }

func ownExecutable() -> URL {
  #if os(Linux)
    URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
  #else
    Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
  #endif
}

/// Runs this program again with other arguments, and passes on what it reports.
///
/// - Parameter silence: The number of seconds without a report after which a child is killed.
func runChild(
  _ arguments: [String], silence: Int, _ handle: (Event) -> Void
) throws(ChildFailure) {
  let process = Process()
  process.executableURL = ownExecutable()
  process.arguments = arguments
  var environment = ProcessInfo.processInfo.environment
  environment["SWIFT_BACKTRACE"] = "enable=no"
  process.environment = environment
  let output = Pipe()
  process.standardOutput = output
  do { try process.run() } catch { throw ChildFailure(reason: "\(error)") }

  let id = process.processIdentifier
  func startWatchdog() -> Promise<Void> {
    let silent = Promise<Void>.after(.seconds(silence))
    silent.done(on: .immediate) { kill(id, SIGKILL) }.ignoreErrors()
    return silent
  }
  var watchdog = startWatchdog()
  var buffer = Data()
  // `availableData` is empty only at the end of the stream.
  while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
    if watchdog.isPending {
      watchdog.cancel()
      watchdog = startWatchdog()
    }
    buffer.append(data)
    while let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: buffer[..<end], as: UTF8.self)
      buffer = Data(buffer[(end + 1)...])
      if let event = Event(line[...]) { handle(event) }
    }
  }
  process.waitUntilExit()
  defer { watchdog.cancel() }
  if !watchdog.isPending { throw ChildFailure(reason: "no end after \(silence) s") }
  let status = process.terminationStatus
  if process.terminationReason == .uncaughtSignal {
    throw ChildFailure(reason: "crash, signal \(status)")
  }
  if status != 0 { throw ChildFailure(reason: "exit status \(status)") }
}
