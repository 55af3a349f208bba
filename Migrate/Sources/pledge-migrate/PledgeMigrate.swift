import ArgumentParser
import Foundation
import MigrateKit

@main struct PledgeMigrate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pledge-migrate",
    abstract: "Describes, checks, and writes conversions from promises to async/await.",
    subcommands: [ReportCommand.self, CheckCommand.self, RewriteCommand.self])
}

/// Writes a result to a file, or to standard output.
func deliver(_ text: String, to path: String?) throws {
  guard let path else { return print(text) }
  do {
    try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
  } catch {
    throw MigrateError("'\(path)' can't be written: \(error.localizedDescription)")
  }
}

/// Writes a line to standard error.
func remark(_ text: String) {
  FileHandle.standardError.write(Data((text + "\n").utf8))
}
