import Foundation

/// Results in the format of code scanners (SARIF 2.1.0).
public struct Sarif: Encodable, Sendable {
  struct Message: Encodable { let text: String }
  struct RuleDescription: Encodable {
    let id: String
    let shortDescription: Message
  }
  struct Driver: Encodable {
    let name = "pledge-migrate"
    let rules: [RuleDescription]
  }
  struct Tool: Encodable { let driver: Driver }
  struct Artifact: Encodable { let uri: String }
  struct Region: Encodable { let startLine: Int }
  struct PhysicalLocation: Encodable {
    let artifactLocation: Artifact
    let region: Region
  }
  struct Location: Encodable {
    let physicalLocation: PhysicalLocation
    var message: Message?
  }
  struct Result: Encodable {
    let ruleId: String
    let level: String
    let message: Message
    let locations: [Location]
    var relatedLocations: [Location] = []
    var partialFingerprints: [String: String] = [:]
  }
  struct Run: Encodable {
    let tool: Tool
    let results: [Result]
  }

  let schema = "https://json.schemastore.org/sarif-2.1.0.json"
  let version = "2.1.0"
  let runs: [Run]

  private enum CodingKeys: String, CodingKey {
    case schema = "$schema"
    case version, runs
  }

  /// The path as a relative reference of a URI.
  private static func uri(_ path: String) -> String {
    let allowed = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: ":"))
    return path.addingPercentEncoding(withAllowedCharacters: allowed) ?? path
  }

  private static func location(_ path: String, _ line: Int, _ message: String? = nil) -> Location {
    Location(
      physicalLocation: PhysicalLocation(
        artifactLocation: Artifact(uri: uri(path)), region: Region(startLine: max(1, line))),
      message: message.map { Message(text: $0) })
  }

  /// The findings of a comparison.
  public init(_ findings: [Finding]) {
    let rules = Rule.allCases.map {
      RuleDescription(id: $0.rawValue, shortDescription: Message(text: $0.consequence))
    }
    let results = findings.map { finding in
      let main = finding.new ?? finding.old
      let related =
        [(finding.old, "before")]
        + finding.others.map { ($0.new ?? $0.old, "the same in \($0.function)") }
      return Result(
        ruleId: finding.rule.rawValue, level: finding.severity.rawValue,
        message: Message(text: finding.text),
        locations: [Self.location(main?.file.path ?? "", main?.line ?? 1)],
        relatedLocations: related.compactMap { place, message in
          place.map { Self.location($0.file.path, $0.line, message) }
        },
        partialFingerprints: ["pledge-migrate/v1": finding.fingerprint])
    }
    runs = [Run(tool: Tool(driver: Driver(rules: rules)), results: results)]
  }

  /// The chains of a report that need a decision.
  public init(_ report: Report) {
    let rules =
      Decision.allCases.map {
        RuleDescription(id: $0.rawValue, shortDescription: Message(text: $0.question))
      }
      + Report.Note.kinds.sorted { $0.key < $1.key }.map {
        RuleDescription(id: $0.key, shortDescription: Message(text: $0.value))
      }
    let results = report.files.flatMap { file in
      file.functions.flatMap { function in
        function.chains.compactMap { chain -> Result? in
          guard let decision = chain.decision, let question = chain.question else { return nil }
          return Result(
            ruleId: decision, level: "note", message: Message(text: question),
            locations: [Self.location(file.path, chain.line)])
        }
          + function.notes.map { note in
            Result(
              ruleId: note.kind, level: "note", message: Message(text: note.text),
              locations: [Self.location(file.path, note.line)])
          }
      }
    }
    runs = [Run(tool: Tool(driver: Driver(rules: rules)), results: results)]
  }

  /// The text of the file.
  public var json: String { encoded(self) }
}
