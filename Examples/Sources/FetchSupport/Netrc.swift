/// The user names and passwords in a netrc file.
public struct Netrc: Sendable, Equatable {
  private struct Entry: Sendable, Equatable {
    /// The host; nil for the default entry.
    var machine: String?
    var login = ""
    var password = ""
  }

  private var entries: [Entry] = []

  /// Parses the text of a netrc file; like other programs, this skips what it doesn't recognize.
  public init(_ text: String) {
    var words: [Substring] = []
    var isMacro = false
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      let parts = line.split(whereSeparator: \.isWhitespace)
      // A macro ends at the first empty line.
      if isMacro {
        isMacro = !parts.isEmpty
      } else if parts.first == "macdef" {
        isMacro = true
      } else {
        words += parts.prefix { !$0.hasPrefix("#") }
      }
    }
    var rest = words[...]
    while let word = rest.popFirst() {
      switch word {
      case "machine": entries.append(Entry(machine: rest.popFirst().map(String.init)))
      case "default": entries.append(Entry())
      case "login" where !entries.isEmpty:
        entries[entries.count - 1].login = rest.popFirst().map(String.init) ?? ""
      case "password" where !entries.isEmpty:
        entries[entries.count - 1].password = rest.popFirst().map(String.init) ?? ""
      default: break
      }
    }
  }

  /// Returns the user name and password for a host; nil if there are none.
  public func credentials(for host: String) -> (user: String, password: String)? {
    let entry = entries.first { $0.machine == nil || $0.machine?.lowercased() == host.lowercased() }
    return entry.map { ($0.login, $0.password) }
  }
}
