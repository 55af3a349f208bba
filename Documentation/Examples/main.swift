import Foundation

// Writes the Swift examples of pages in Markdown to two Swift files, so that a build compiles them: one
// file for the examples that need package traits, and one for all others.
//
//     extract-examples OUTPUT OUTPUT-OF-INTEGRATIONS PAGE...
//
// An example that consists of declarations is at file scope, where tests can use it; any other is the
// body of a function. A comment before an example, which readers of the page don't see, can contain
// code that the example needs:
//
//     <!-- example
//     let user = User()
//     -->
//
// Its lines must not begin with `@`, which DocC takes for a directive.
//
// After the word `example`, options can follow, each after a comma: `continued`, if the example
// continues the one before it; `in a function`, if its declarations have names that others have, too;
// `on the main actor`; `of an integration`, if it needs package traits; or `elsewhere`, if a program
// in Examples compiles it.

struct Example {
  var page: String
  /// What the example needs, and its own code, each with the number of its first line in the page.
  var parts: [(line: Int, code: [String])] = []
  var options: Set<String> = []

  var code: [String] { parts.flatMap(\.code) }

  /// Whether all that isn't indented is a declaration, or the end of one.
  var isDeclarations: Bool {
    let starts = [
      "func ", "struct ", "final ", "class ", "actor ", "enum ", "extension ", "protocol ",
      "typealias ", "nonisolated ", "private ", "@", "//", "#", " ", "{", "}", ")",
    ]
    return !options.contains("in a function")
      && code.allSatisfy { line in line.isEmpty || starts.contains { line.hasPrefix($0) } }
  }

  /// The names that the outermost `let` and `var` declare.
  var names: [Substring] {
    code.flatMap { line -> [Substring] in
      guard let match = line.wholeMatch(of: /(?:let|var) (?:(\w+)|\((.+?)\)).*/) else { return [] }
      let names = match.1 ?? match.2 ?? ""
      return names.split { ", ".contains($0) }
    }
  }

  /// The code, each part with its place in the page, which the compiler's messages then name.
  var located: String {
    parts.map { line, code in
      "#sourceLocation(file: \"\(page)\", line: \(line))\n"
        + code.map { $0 + "\n" }.joined() + "#sourceLocation()\n"
    }.joined()
  }
}

/// Returns the examples of a page.
func examples(of page: String) throws -> [Example] {
  var examples: [Example] = []
  var next = Example(page: page)
  var end: String?
  let lines = try String(contentsOfFile: page, encoding: .utf8)
    .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  for (index, line) in lines.enumerated() {
    if let mark = end {
      guard line == mark else {
        // Imports are those of the whole file.
        next.parts[next.parts.count - 1].code.append(line.hasPrefix("import ") ? "" : line)
        continue
      }
      end = nil
      guard mark == "```" else { continue }
      if next.options.contains("continued") {
        examples[examples.count - 1].parts += next.parts
      } else if !next.options.contains("elsewhere") {
        examples.append(next)
      }
      next = Example(page: page)
    } else if let comment = line.wholeMatch(of: /<!-- example(?:, ([a-z, ]+?))?( -->)?/) {
      next.options = Set(comment.1?.components(separatedBy: ", ") ?? [])
      if comment.2 == nil {
        next.parts.append((index + 2, []))
        end = "-->"
      }
    } else if line == "```swift" {
      next.parts.append((index + 2, []))
      end = "```"
    }
  }
  return examples
}

let imports = """
  import Dispatch
  import Foundation
  import Observation
  import Pledge
  import PledgeDiagnostics
  import PledgeFoundation
  import PledgeTesting
  import PledgeTestingTraits
  import Testing

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif


  """

/// The file of the examples of integrations, which a build with all traits compiles.
let integrations = """
  #if NIO && OpenCombine && Logging && Tracing && Metrics && ServiceLifecycle && AsyncHTTPClient
  import AsyncHTTPClient
  import Logging
  import Metrics
  import NIOCore
  import NIOEmbedded
  import NIOHTTP1
  import NIOPosix
  import OpenCombine
  import PledgeAsyncHTTPClient
  import PledgeCombine
  import PledgeLifecycle
  import PledgeLogging
  import PledgeMetrics
  import PledgeNIO
  import PledgeTracing
  import ServiceLifecycle
  import Tracing
  \(imports)
  """

/// Returns the code of a file that compiles `examples`.
func code(of examples: [Example]) -> String {
  var declarations: Set<[String]> = []
  var code = ""
  var count = 0
  for example in examples {
    if example.isDeclarations {
      // Some are on two pages.
      if declarations.insert(example.code).inserted { code += example.located }
    } else {
      count += 1
      let isolation = example.options.contains("on the main actor") ? "@MainActor " : ""
      let effects = example.code.contains { $0.contains("await ") } ? "async throws" : "throws"
      code += """
        \(isolation)private func example\(count)() \(effects) {
        \(example.located)_ = (\(example.names.joined(separator: ", ")))
        }

        """
    }
  }
  return code
}

let all = try CommandLine.arguments.dropFirst(3).flatMap(examples)
let (ofIntegrations, others) = (
  all.filter { $0.options.contains("of an integration") },
  all.filter { !$0.options.contains("of an integration") }
)
for (file, text) in [
  (CommandLine.arguments[1], imports + code(of: others)),
  (CommandLine.arguments[2], integrations + code(of: ofIntegrations) + "#endif\n"),
] {
  try text.write(toFile: file, atomically: true, encoding: .utf8)
}
