/// The users and passwords of a netrc file.
public struct Netrc: Sendable, Equatable {
  private struct Entry: Sendable, Equatable {
    /// The host; nil for the default.
    var machine: String?
    var login = ""
    var password = ""
  }

  private var entries: [Entry] = []

  /// Reads the text of a netrc file; what is not understood is skipped, as by other programs.
  public init(_ text: String) {
    var words: [Substring] = []
    var isMacro = false
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      let parts = line.split(whereSeparator: \.isWhitespace)
      // The lines of a macro end with an empty one.
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

  /// Returns the user and the password for a host, if there are any.
  public func credentials(for host: String) -> (user: String, password: String)? {
    let entry = entries.first { $0.machine == nil || $0.machine?.lowercased() == host.lowercased() }
    return entry.map { ($0.login, $0.password) }
  }
}
