import Dispatch
import Foundation
import Synchronization

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

  let watchdog = Watchdog(seconds: silence, process: process.processIdentifier)
  var buffer = Data()
  // `availableData` is empty only at the end of the stream.
  while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
    watchdog.reset()
    buffer.append(data)
    while let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: buffer[..<end], as: UTF8.self)
      buffer = Data(buffer[(end + 1)...])
      if let event = Event(line[...]) { handle(event) }
    }
  }
  process.waitUntilExit()
  if watchdog.stop() { throw ChildFailure(reason: "no end after \(silence) s") }
  let status = process.terminationStatus
  if process.terminationReason == .uncaughtSignal {
    throw ChildFailure(reason: "crash, signal \(status)")
  }
  if status != 0 { throw ChildFailure(reason: "exit status \(status)") }
}

/// Kills a process that hasn't reported anything for too long.
private final class Watchdog: Sendable {
  private let lastSign: Atomic<UInt64>
  private let killed = Atomic(false)
  /// Set before another thread can access it; Dispatch's objects are thread-safe.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  init(seconds: Int, process: pid_t) {
    lastSign = Atomic(DispatchTime.now().uptimeNanoseconds)
    timer = DispatchSource.makeTimerSource(queue: .global())
    timer.setEventHandler { [weak self] in
      guard let self else { return }
      let last = lastSign.load(ordering: .relaxed)
      let now = DispatchTime.now().uptimeNanoseconds
      guard now > last, now - last > UInt64(seconds) * 1_000_000_000 else { return }
      killed.store(true, ordering: .relaxed)
      kill(process, SIGKILL)
    }
    timer.schedule(deadline: .now() + 1, repeating: 1)
    timer.resume()
  }

  func reset() { lastSign.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed) }

  /// Stops watching; returns whether the process was killed.
  func stop() -> Bool {
    timer.cancel()
    return killed.load(ordering: .relaxed)
  }
}
