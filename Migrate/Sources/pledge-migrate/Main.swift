import ArgumentParser
import Foundation
import MigrateKit

@main struct PledgeMigrate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pledge-migrate",
    abstract: "Finds what a conversion of promises changes, before and after.",
    subcommands: [Check.self])
}

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compares two versions of a program and reports what its users would notice.")

  @Argument(help: "The old version: a folder, a file, or a revision.") var old: String
  @Argument(help: "The new version.") var new: String

  func run() throws {
    let start = Date()
    let before = try SourceTree(path: old)
    let after = try SourceTree(path: new)
    let checker = Checker(old: before, new: after)
    let findings = checker.run()
    for finding in findings {
      print("\(finding.new?.description ?? "-"): \(finding.severity.rawValue): \(finding.message) [\(finding.rule.rawValue)] \(finding.old?.description ?? "-")")
    }
    print(findings.count, checker.comparedFunctions, Date().timeIntervalSince(start))
  }
}
