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
    /// The keyword whose value is the next word.
    var keyword: String?
    var isMacro = false
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      let words = Self.words(of: line)
      // A macro ends at the first empty line.
      if isMacro {
        isMacro = !words.isEmpty
        continue
      }
      for word in words {
        if let name = keyword {
          set(name, word)
          keyword = nil
        } else if word.hasPrefix("#") {
          // Only here: a password can start with the same character.
          break
        } else if word == "macdef" {
          isMacro = true
          break
        } else if word == "default" {
          entries.append(Entry())
        } else if ["machine", "login", "password", "account"].contains(word) {
          keyword = word
        }
      }
    }
  }

  private mutating func set(_ keyword: String, _ value: String) {
    if keyword == "machine" { entries.append(Entry(machine: value)) }
    guard !entries.isEmpty else { return }
    if keyword == "login" { entries[entries.count - 1].login = value }
    if keyword == "password" { entries[entries.count - 1].password = value }
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
