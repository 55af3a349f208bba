import Foundation

extension TreeRewrite {
  /// Writes the changed files below `root`, or `root` itself, if `command` succeeds before and after.
  ///
  /// The command is one of a shell, such as `swift build`. If it fails before, nothing is written; if
  /// it fails after, the files get their text back. Without changes, it doesn't run. Its output goes
  /// to standard error.
  public func write(to root: String, verifiedBy command: String?) throws {
    guard let command else { return try write(to: root) }
    if changes.isEmpty { return }
    guard try Self.succeeds(command) else {
      throw MigrateError("'\(command)' failed before the conversion. Nothing was written.")
    }
    try write(to: root)
    do {
      if try Self.succeeds(command) { return }
    } catch {
      try undo(at: root)
      throw error
    }
    try undo(at: root)
    throw MigrateError("'\(command)' failed after the conversion, which was undone.")
  }

  private static func succeeds(_ command: String) throws -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", command]
    process.standardOutput = FileHandle.standardError
    try process.run()
    process.waitUntilExit()
    return process.terminationReason == .exit && process.terminationStatus == 0
  }
}
