import Foundation

extension Report {
  /// The report as text.
  public var text: String {
    var lines: [String] = []
    for file in files {
      lines.append(file.path)
      for function in file.functions {
        lines.append("  \(function.name), line \(function.line)")
        for chain in function.chains { lines += Self.lines(chain) }
        for note in function.notes { lines.append("    \(note.line): [\(note.kind)] \(note.text)") }
        if let paths = function.paths {
          for (title, effects) in [
            ("on success", paths.onSuccess), ("on failure", paths.onFailure),
            ("on cancellation", paths.onCancellation),
          ] where !effects.isEmpty {
            lines.append("    \(title):")
            lines += effects.prefix(12).map { "      " + $0 }
            if effects.count > 12 { lines.append("      … and \(effects.count - 12) more") }
          }
        }
      }
      lines.append("")
    }
    if !undecided.isEmpty {
      lines.append("Not decided, because the type isn't known:")
      lines += undecided.map { "  " + $0 } + [""]
    }
    if !order.isEmpty {
      lines.append("Convert the functions in this order:")
      lines += order.enumerated().map { "  \($0.offset + 1). \($0.element)" } + [""]
    }
    if !problems.isEmpty { lines += problems + [""] }
    return (lines + summaryLines).joined(separator: "\n")
  }

  private static func lines(_ chain: ChainFacts) -> [String] {
    let verdict =
      chain.isNested
      ? "part of the chain around it" : chain.decision.map { "needs a decision: \($0)" } ?? "exact"
    var lines = [
      "    \(chain.line): \(chain.source)  [\(chain.usage); errors \(chain.errors); \(verdict)]"
    ]
    for item in chain.operators {
      lines.append(
        "      \(item.line): .\(item.name) gets the \(item.handles), on \(item.runsOn)"
          + (item.skipsCancellations ? ", not for cancellations" : ""))
    }
    if let question = chain.question { lines.append("      → \(question)") }
    return lines
  }

  /// The counts, as lines of text.
  public var summaryLines: [String] {
    let decided =
      summary.decidedByIndex + summary.decidedByDeclaration + summary.decidedByName
      + summary.decidedByChain
    var lines = [
      "\(summary.files) files, \(summary.lines) lines, \(summary.chains) chains with"
        + " \(summary.operators) operators",
      "Decided: \(decided) of \(decided + summary.undecided) (\(summary.decidedByIndex) by the"
        + " index, \(summary.decidedByDeclaration) by"
        + " declarations, \(summary.decidedByName) by names, \(summary.decidedByChain) by their"
        + " chains); undecided: \(summary.undecided)",
      "Exact: \(summary.exactChains) chains with \(summary.exactOperators) operators",
    ]
    for (decision, count) in summary.decisions.sorted(by: {
      ($1.value, $0.key) < ($0.value, $1.key)
    }) {
      let question = Decision(rawValue: decision)?.question ?? ""
      lines.append("Needs a decision: \(count) × \(decision): \(question)")
    }
    return lines
  }

  /// The report as JSON.
  public var json: String { encoded(self) }
}

/// A value as JSON with sorted keys.
func encoded(_ value: some Encodable) -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
  guard let data = try? encoder.encode(value) else { return "{}" }
  return String(decoding: data, as: UTF8.self)
}
