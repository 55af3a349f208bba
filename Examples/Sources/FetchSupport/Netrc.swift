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
    var words: [String] = []
    var isMacro = false
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      let parts = Self.words(of: line)
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
      case "machine": entries.append(Entry(machine: rest.popFirst()))
      case "default": entries.append(Entry())
      case "login" where !entries.isEmpty:
        entries[entries.count - 1].login = rest.popFirst() ?? ""
      case "password" where !entries.isEmpty:
        entries[entries.count - 1].password = rest.popFirst() ?? ""
      default: break
      }
    }
  }

  /// Returns the user name and password for a host; nil if there are none.
  ///
  /// - Parameters:
  ///   - host: The host.
  ///   - login: The user name; nil for any.
  ///   - usingDefault: Whether the default entry applies to this host.
  public func credentials(
    for host: String, login: String? = nil, usingDefault: Bool = true
  ) -> (user: String, password: String)? {
    let entry = entries.first { entry in
      let isForHost = entry.machine.map { $0.lowercased() == host.lowercased() } ?? usingDefault
      return isForHost && (login == nil || entry.login == login)
    }
    return entry.map { ($0.login, $0.password) }
  }

  /// Returns the words of a line; in double quotes, they can contain spaces and escapes.
  private static func words(of line: Substring) -> [String] {
    var words: [String] = []
    var word: String?
    var isQuoted = false
    var characters = line.makeIterator()
    while let character = characters.next() {
      if isQuoted, character == "\\" {
        word?.append(characters.next() ?? character)
      } else if character == "\"", isQuoted || word == nil {
        isQuoted.toggle()
        word = word ?? ""
      } else if isQuoted || !character.isWhitespace {
        word = (word ?? "") + String(character)
      } else if let complete = word {
        words.append(complete)
        word = nil
      }
    }
    return words + [word].compactMap(\.self)
  }
}
