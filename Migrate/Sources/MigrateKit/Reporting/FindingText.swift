extension Finding {
  /// The finding as compilers print theirs, with the place in the old version below.
  public var lines: String {
    let main = new ?? old
    var text =
      "\(main?.description ?? function): \(severity.rawValue): \(self.text) [\(rule.rawValue)]"
    if let old, new != nil { text += "\n  before: \(old.description) in \(function)" }
    for other in others {
      text += "\n  also: \((other.new ?? other.old)?.description ?? "") in \(other.function)"
    }
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
    /// The same in other functions of the file.
    let others: [Item]

    init(_ finding: Finding) {
      rule = finding.rule.rawValue
      severity = finding.severity.rawValue
      function = finding.function
      message = finding.message
      consequence = finding.rule.consequence
      before = finding.old?.description
      after = finding.new?.description
      fingerprint = finding.fingerprint
      others = finding.others.map(Item.init)
    }
  }

  let findings: [Item]

  /// Creates a list of findings.
  public init(_ findings: [Finding]) {
    self.findings = findings.map(Item.init)
  }

  /// The text of the file.
  public var json: String { encoded(self) }
}
