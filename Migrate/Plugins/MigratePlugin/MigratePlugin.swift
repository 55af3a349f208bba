import Foundation
import PackagePlugin

/// `swift package pledge-migrate` with `report`, `check`, or `rewrite`, for the package in the current
/// folder.
@main struct MigratePlugin: CommandPlugin {
  func performCommand(context: PluginContext, arguments: [String]) throws {
    let tool = try context.tool(named: "pledge-migrate")
    var arguments = arguments.isEmpty ? ["report"] : arguments
    if arguments.count == 1, ["report", "rewrite"].contains(arguments[0]) {
      arguments.append(context.package.directoryURL.path)
    }
    if arguments[0] == "rewrite", !arguments.contains("--to") { arguments += ["--to", "async"] }
    let process = Process()
    process.executableURL = tool.url
    process.arguments = arguments
    process.currentDirectoryURL = context.package.directoryURL
    try process.run()
    process.waitUntilExit()
    if process.terminationStatus != 0 {
      Diagnostics.error("pledge-migrate ended with status \(process.terminationStatus).")
    }
  }
}
