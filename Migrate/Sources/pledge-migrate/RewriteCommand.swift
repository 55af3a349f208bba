import ArgumentParser
import Foundation
import MigrateKit

struct RewriteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rewrite",
    abstract: "Converts the chains whose conversion is exact, and marks the others.")

  enum Target: String, ExpressibleByArgument, CaseIterable { case async }

  @Argument(help: "A folder or a Swift file.") var path: String
  @Option(help: "What to convert to: async.") var to: Target
  @Flag(help: "Only prints what would change.") var dryRun = false
  @Flag(help: "Adds an async overload for each function that returns a promise.")
  var twins = false
  @Option(help: "A command that builds the program. It must succeed before and after.")
  var verify: String?

  @OptionGroup var index: IndexOptions

  func run() throws {
    let (tree, root) = try index.tree(path)
    let rewrite = try TreeRewrite(tree, addsTwins: twins)
    guard rewrite.findings.isEmpty || dryRun else {
      remark(rewrite.findings.map(\.lines).joined(separator: "\n"))
      throw MigrateError("The check found differences in the conversion. Nothing was written.")
    }
    if dryRun {
      for change in rewrite.changes { print("\(change.path)\n\(change.after)") }
    } else {
      try rewrite.write(to: root, verifiedBy: verify)
    }
    rewrite.remarks.forEach(remark)
    remark(
      "Converted \(rewrite.convertedChains) chains with \(rewrite.convertedOperators) operators in"
        + " \(rewrite.changes.count) files.")
    for (decision, count) in rewrite.left.sorted(by: { $0.key < $1.key }) {
      remark("Left for a decision: \(count) × \(decision)")
    }
  }
}
