import ArgumentParser
import MigrateKit

/// The options that name a build's index.
struct IndexOptions: ParsableArguments {
  @Option(help: "The index store of a build, such as .build/debug/index/store.")
  var indexStore: String?
  @Option(help: "The path of libIndexStore, if it isn't that of the toolchain.")
  var indexLibrary: String?

  /// The tree at a path, with the index; for a file, the tree around it.
  func tree(_ path: String) throws -> (tree: SourceTree, root: String) {
    var (tree, root) = try SourceTree.around(path)
    if let indexStore {
      let index = try IndexStore(path: indexStore, library: indexLibrary).relative(to: root)
      let outdated = tree.files.map(\.path).filter(index.outdated.contains)
      if let first = outdated.first {
        remark(
          "\(first)\(outdated.count > 1 ? " and \(outdated.count - 1) other files" : ""): warning:"
            + " changed since the build, so the index isn't used there. Build again.")
      }
      if index.isEmpty {
        remark(
          "\(indexStore): warning: has no operators of these files, so the index isn't used. Build the"
            + " program that they belong to, from where they are.")
      }
      tree.index = index
    }
    return (tree, root)
  }
}
