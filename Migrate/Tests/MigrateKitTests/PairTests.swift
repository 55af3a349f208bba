import Foundation
import MigrateKit
import Testing

/// Two versions of a piece of code, with what the check must find.
struct Pair: CustomTestStringConvertible, Sendable {
  let name: String
  let before: String
  let after: String
  /// One of these rules has to be found; if there are none, the versions do the same.
  let rules: [Rule]

  var testDescription: String { name }

  /// The pairs in the folder `Pairs`.
  static let all: [Pair] = {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Pairs")
    guard let files = try? FileManager.default.contentsOfDirectory(atPath: folder.path),
      !files.isEmpty
    else { preconditionFailure("\(folder.path) has no files") }
    return files.sorted().flatMap { name -> [Pair] in
      guard let text = try? String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
      else { preconditionFailure("\(name) can't be read") }
      return pairs(in: text)
    }
  }()

  /// Reads the pairs in a text.
  ///
  /// The line `## name` starts the old version of a piece of code, and `--- rules: name` a new one. In
  /// place of rules, `equal` says that a version does the same.
  private static func pairs(in text: String) -> [Pair] {
    ("\n" + text).components(separatedBy: "\n## ").dropFirst().flatMap { group -> [Pair] in
      let versions = group.components(separatedBy: "\n--- ").map { version in
        let lines = version.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        return (head: String(lines[0]), code: lines.count > 1 ? String(lines[1]) : "")
      }
      return versions.dropFirst().map { version in
        let parts = version.head.split(separator: ":", maxSplits: 1)
        let rules = parts[0].components(separatedBy: ", ").filter { $0 != "equal" }
        return Pair(
          name: versions[0].head + parts.dropFirst().joined(), before: versions[0].code,
          after: version.code,
          rules: rules.map { rule in
            guard let known = Rule(rawValue: rule) else {
              preconditionFailure("\(versions[0].head): there is no rule \(rule)")
            }
            return known
          })
      }
    }
  }
}

/// Small conversions that were written by hand, right and wrong.
@Suite struct PairTests {
  @Test(arguments: Pair.all)
  func check_whenPairIsCompared_findsWhatChanged(pair: Pair) {
    let found = serious(pair.before, pair.after)
    if pair.rules.isEmpty {
      #expect(found.isEmpty, "\(found.summary)")
    } else {
      #expect(found.contains { pair.rules.contains($0.rule) }, "\(found.summary)")
    }
  }
}
