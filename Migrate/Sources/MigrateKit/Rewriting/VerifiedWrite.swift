import Foundation

extension TreeRewrite {
  /// Writes the changed files below `root`, or `root` itself, if `command` succeeds before and after.
  ///
  /// The command is one of a shell, such as `swift build`. If it fails before, nothing is written; if
  /// it fails after, or if the process is asked to end by then, the files get their text back.
  /// Without changes, the command doesn't run. Its output goes to standard error.
  public func write(to root: String, verifiedBy command: String? = nil) throws {
    guard let command else {
      try replaceFiles(at: root)
      return
    }
    if changes.isEmpty { return }
    guard try Self.succeeds(command) else {
      throw MigrateError("'\(command)' failed before the conversion. Nothing was written.")
    }
    Interruption.start()
    defer { Interruption.end() }
    let written = try replaceFiles(at: root)
    let succeeded: Bool
    do {
      succeeded = try Self.succeeds(command)
    } catch {
      try Self.undo(written)
      throw error
    }
    if succeeded, !Interruption.hasOccurred { return }
    try Self.undo(written)
    let event = Interruption.hasOccurred ? "was interrupted" : "failed"
    throw MigrateError("'\(command)' \(event) after the conversion, which was undone.")
  }

  private static func succeeds(_ command: String) throws -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", command]
    process.standardOutput = FileHandle.standardError
    try process.run()
    Interruption.stops(process.processIdentifier)
    process.waitUntilExit()
    Interruption.stops(0)
    return process.terminationReason == .exit && process.terminationStatus == 0
  }
}

/// What happens when the user or the system asks the process to end: its command ends instead, so
/// that the process can restore the files.
private enum Interruption {
  // Written by the thread that verifies, of which a process has one, and read by the handler; and
  // the reverse. Both are aligned words, and nothing else depends on their order.
  nonisolated(unsafe) private static var command: pid_t = 0
  nonisolated(unsafe) private(set) static var hasOccurred = false

  private static let signals = [SIGINT, SIGTERM, SIGHUP]

  static func start() {
    for number in signals {
      signal(number) { _ in
        Interruption.hasOccurred = true
        if Interruption.command > 0 { kill(Interruption.command, SIGTERM) }
      }
    }
  }

  static func end() {
    for number in signals { signal(number, SIG_DFL) }
    hasOccurred = false
  }

  /// Makes an interruption end a process; with 0, none.
  static func stops(_ process: pid_t) {
    command = process
    // It can have occurred while the process was started.
    if hasOccurred, process > 0 { kill(process, SIGTERM) }
  }
}
