import Foundation
import PackagePlugin

/// Compiles the examples of the README and the articles with the target that uses it.
@main struct CompileExamples: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: Target) throws -> [Command] {
    let root = context.package.directoryURL
    let sources = root.appending(path: "Sources")
    let articles = try FileManager.default.subpathsOfDirectory(atPath: sources.path())
      .filter { $0.contains(".docc/") && $0.hasSuffix(".md") }
      .sorted().map { sources.appending(path: $0) }
    let pages =
      ["README.md", "CONTRIBUTING.md", "Documentation/AssistantGuide.md"]
      .map { root.appending(path: $0) } + articles
    let outputs = ["Examples.swift", "ExamplesOfIntegrations.swift"]
      .map { context.pluginWorkDirectoryURL.appending(path: $0) }
    return [
      .buildCommand(
        displayName: "Extracting the examples of the documentation",
        executable: try context.tool(named: "extract-examples").url,
        arguments: (outputs + pages).map { $0.path() },
        inputFiles: pages, outputFiles: outputs)
    ]
  }
}
