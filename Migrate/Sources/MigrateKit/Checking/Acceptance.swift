import Foundation

/// Findings that are accepted for good, by a comment or a baseline file.
public struct Baseline: Codable, Sendable {
  /// The fingerprints of accepted findings.
  public var accepted: Set<String>

  /// Creates a baseline that accepts `findings`.
  public init(_ findings: [Finding]) { accepted = Set(findings.map(\.fingerprint)) }

  /// Reads a baseline from a file.
  public init(path: String) throws {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw MigrateError("There is no baseline at '\(path)'. Write one with --write-baseline.")
    }
    do {
      self = try JSONDecoder().decode(Self.self, from: data)
    } catch {
      throw MigrateError("'\(path)' isn't a baseline that --write-baseline has written.")
    }
  }

  /// The baseline as text, sorted so that versions of it can be compared.
  public var text: String {
    encoded(["accepted": accepted.sorted()]) + "\n"
  }
}

extension [Finding] {
  /// The findings that neither a comment nor the baseline accepts.
  ///
  /// A comment `// pledge-migrate: accept rule` accepts the findings of this rule on its own line, on
  /// the line after it, or, before a function, in the whole function.
  public func notAccepted(by baseline: Baseline?) -> [Finding] {
    filter { finding in
      if baseline?.accepted.contains(finding.fingerprint) == true { return false }
      return ![finding.new, finding.old, finding.declaration].compactMap { $0 }.contains {
        $0.accepts(finding.rule)
      }
    }
  }
}

extension Place {
  /// Whether a comment here accepts findings of a rule.
  fileprivate func accepts(_ rule: Rule) -> Bool {
    let own = line
    if Self.accepts(file.line(own), rule) { return true }
    // Comments directly above the line.
    var number = own - 1
    while number >= 1 {
      let text = file.line(number).drop { $0 == " " || $0 == "\t" }
      guard text.hasPrefix("//") else { break }
      if Self.accepts(text, rule) { return true }
      number -= 1
    }
    return false
  }

  private static func accepts(_ line: Substring, _ rule: Rule) -> Bool {
    guard let mark = line.range(of: "pledge-migrate: accept ") else { return false }
    let names = line[mark.upperBound...].split { !($0.isLetter || $0 == "-") }
    return names.contains { $0 == rule.rawValue }
  }
}
