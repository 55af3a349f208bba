import ArgumentParser
import MigrateKit

struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Describes the promises of a program, and what to decide before a conversion.")

  enum Format: String, ExpressibleByArgument, CaseIterable { case text, json, sarif, html, summary }

  @Argument(help: "A folder or a Swift file.") var path: String
  @Option(help: "The format: text, json, sarif, html, or summary.") var format = Format.text
  @Option(name: .shortAndLong, help: "The file to write; standard output by default.")
  var output: String?

  @OptionGroup var index: IndexOptions

  func run() throws {
    let report = Report(try index.tree(path).tree)
    let text: String =
      switch format {
      case .text: report.text
      case .json: report.json
      case .sarif: Sarif(report).json
      case .html: Page(report).html
      case .summary: report.summaryLines.joined(separator: "\n")
      }
    try deliver(text, to: output)
  }
}
