import Foundation

/// The conversion of a tree.
public struct TreeRewrite: Sendable {
  /// A file that changes.
  public struct Change: Sendable {
    /// The path, relative to the tree.
    public let path: String
    /// The text before the conversion.
    public let before: String
    /// The converted text.
    public let after: String
  }

  /// The files that change.
  public let changes: [Change]
  /// The number of chains that are converted.
  public let convertedChains: Int
  /// The number of operators of these chains.
  public let convertedOperators: Int
  /// How many chains are left, by the decision that they need.
  public let left: [String: Int]
  /// Remarks about code in macros and alternatives of `#if`, which gets no comment.
  public let remarks: [String]
  /// What the check finds in the conversion: with any of these, it must not be written.
  public private(set) var findings: [Finding]

  /// Plans the conversion of a tree; fails if a file of it can't be read reliably.
  ///
  /// The check compares the result with the tree, and conversions that it doesn't accept are left
  /// out. With `addsTwins`, functions that return promises get `async` overloads that await them.
  public init(_ tree: SourceTree, addsTwins: Bool = false) throws {
    if let problem = tree.problems.first(where: { tree.focus == nil || $0.path == tree.focus }) {
      throw MigrateError(
        "\(problem.path):\(problem.line): \(problem.message) Nothing was written.")
    }
    // What the check doesn't accept stays as it is.
    var unproved: Set<String> = []
    while true {
      try self.init(tree, addsTwins: addsTwins, unproved: unproved)
      let findings = Checker(old: tree, new: applied(to: tree)).run()
      let keys = findings.compactMap { finding in
        // What differs can be in a function that this one calls, in another file.
        (finding.declaration ?? finding.old).map { Rewriter.key($0.file.path, finding.function) }
      }
      var more = Set(keys).subtracting(unproved)
      if more.isEmpty {
        // What a function does differently can come from others, which are usually in its file.
        more = Set(findings.compactMap { $0.old.map { Rewriter.key($0.file.path) } })
          .subtracting(unproved)
      }
      if more.isEmpty {
        self.findings = findings
        return
      }
      unproved.formUnion(more)
    }
  }

  private init(_ tree: SourceTree, addsTwins: Bool, unproved: Set<String>) throws {
    let program = Program(tree)
    let rewriter = Rewriter(program, unproved: unproved)
    var changes: [Change] = []
    var chains = 0
    var operators = 0
    var left: [String: Int] = [:]
    var remarks: [String] = []
    for file in tree.focusedFiles {
      var plan = rewriter.plan(file)
      if addsTwins { plan.edits += Twins(program: program, unproved: unproved).edits(file) }
      for item in plan.items {
        if let decision = item.decision {
          left[decision.rawValue, default: 0] += 1
          if decision.leavesCodeUntouched {
            remarks.append("\(item.chain.place.description): left as it is: \(decision.question)")
          }
        } else {
          chains += 1
          operators += item.operators
        }
      }
      guard !plan.edits.isEmpty else { continue }
      let text = plan.text
      let result = SourceFile(path: file.path, text: text)
      if let problem = result.problems.first {
        throw MigrateError(
          "The conversion of \(file.path) wouldn't parse (line \(problem.line): \(problem.message))"
            + " Nothing was written. Please report this.")
      }
      changes.append(Change(path: file.path, before: file.text, after: text))
    }
    self.changes = changes
    convertedChains = chains
    convertedOperators = operators
    self.left = left
    self.remarks = remarks
    findings = []
  }

  /// The converted tree.
  public func applied(to tree: SourceTree) -> SourceTree {
    let texts = Dictionary(changes.map { ($0.path, $0.after) }) { first, _ in first }
    return SourceTree(
      contents: tree.files.map { ($0.path, texts[$0.path] ?? $0.text) }, settings: tree.settings)
  }

  /// Writes the changed files below `root`, or `root` itself if it is a file, through symbolic links.
  ///
  /// Nothing is written if one of them is read-only, is outside `root`, or changed since it was read.
  /// Each file is replaced at once. If one can't be written, the ones before it are restored. The
  /// result is what ``undo(_:)`` needs.
  @discardableResult func replaceFiles(at root: String) throws -> [Replacement] {
    let replacements = try replacements(at: root)
    var written: [Replacement] = []
    do {
      for replacement in replacements {
        try replacement.write()
        written.append(replacement)
      }
    } catch {
      try Self.undo(written)
      throw MigrateError("The conversion couldn't be written and was undone: \(error)")
    }
    return written
  }

  /// Restores files that were written, except those that changed since then, which an error names.
  static func undo(_ written: [Replacement]) throws {
    var failures: [String] = []
    for replacement in written {
      do { try replacement.reversed.write() } catch { failures.append("\(error)") }
    }
    guard !failures.isEmpty else { return }
    throw MigrateError(
      "The conversion couldn't be undone everywhere. " + failures.joined(separator: " "))
  }

  private func replacements(at root: String) throws -> [Replacement] {
    let base = URL(fileURLWithPath: root).resolvingSymlinksInPath()
    var isFolder: ObjCBool = false
    _ = FileManager.default.fileExists(atPath: base.path, isDirectory: &isFolder)
    var result: [Replacement] = []
    for change in changes {
      let named = isFolder.boolValue ? base.appendingPathComponent(change.path) : base
      let path = named.resolvingSymlinksInPath().path
      let prefix = base.path == "/" ? "/" : base.path + "/"
      guard path == base.path || path.hasPrefix(prefix) else {
        throw MigrateError(
          "'\(change.path)' is a symbolic link to '\(path)', which is outside '\(root)'."
            + " Nothing was written.")
      }
      do {
        let source = try StoredSource(path: path)
        guard source.text.utf8.elementsEqual(change.before.utf8) else {
          throw MigrateError("'\(path)' changed since it was read. Run the command again.")
        }
        let replacement = Replacement(
          path: path, before: source.bytes, after: source.bytes(of: change.after))
        try replacement.check()
        if let other = result.first(where: { $0.path == path }) {
          // The tree has a file and a link to it.
          guard other.after == replacement.after else {
            throw MigrateError("'\(path)' has several names, whose conversions differ.")
          }
        } else {
          result.append(replacement)
        }
      } catch {
        throw MigrateError("\(error) Nothing was written.")
      }
    }
    return result
  }
}
