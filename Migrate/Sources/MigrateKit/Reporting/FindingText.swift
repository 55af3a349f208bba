extension Finding {
  /// The finding as compilers print theirs, with the place in the old version below.
  public var lines: String {
    let main = new ?? old
    var text =
      "\(main?.description ?? function): \(severity.rawValue): \(self.text) [\(rule.rawValue)]"
    if let old, new != nil { text += "\n  before: \(old.description) in \(function)" }
    return text
  }
}

/// Findings as JSON.
public struct FindingList: Encodable, Sendable {
  struct Item: Encodable {
    let rule: String
    let severity: String
    let function: String
    let message: String
    let consequence: String
    let before: String?
    let after: String?
    let fingerprint: String
  }

  let findings: [Item]

  /// Creates a list of findings.
  public init(_ findings: [Finding]) {
    self.findings = findings.map {
      Item(
        rule: $0.rule.rawValue, severity: $0.severity.rawValue, function: $0.function,
        message: $0.message, consequence: $0.rule.consequence, before: $0.old?.description,
        after: $0.new?.description, fingerprint: $0.fingerprint)
    }
  }

  /// The text of the file.
  public var json: String { encoded(self) }
}
