import Foundation

/// Parses URLs as people and servers write them: with brackets, bars, and letters that must be
/// escaped.
enum Address {
  /// Returns the URL in `text`, with escapes where they are needed; nil if it is invalid.
  ///
  /// `URL(string:)` does the same, but if a path contains a character that must be escaped, it also
  /// escapes the `%` of existing escapes. With `base`, `text` can be a reference such as `../x`.
  static func url(_ text: String, relativeTo base: URL? = nil) -> URL? {
    if base == nil, let url = URL(string: text, encodingInvalidCharacters: false) {
      return hasValidPort(text) ? url : nil
    }
    let url = URL(string: escaped(text), relativeTo: base)?.absoluteURL
    return url.flatMap { hasValidPort($0.absoluteString) ? $0 : nil }
  }

  /// Returns `text`, which may be an invalid URL, without a user name and a password.
  static func withoutCredentials(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "@")), let slashes = text.range(of: "//"),
      let at = text[slashes.upperBound...].prefix(while: { !"/?#".contains($0) }).lastIndex(of: "@")
    else { return text }
    return text[..<slashes.upperBound] + "…" + text[at...]
  }

  /// Whether the port in an absolute URL, if there is one, is from 1 to 65535.
  ///
  /// `URL.port` is nil for a number that is too large, as if there were no port.
  private static func hasValidPort(_ text: String) -> Bool {
    guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) else { return true }
    let authority = text.utf8[slash...].dropFirst(2).prefix { !"/?#".utf8.contains($0) }
    guard let colon = authority.lastIndex(of: UInt8(ascii: ":")) else { return true }
    let port = authority[colon...].dropFirst()
    // The colon can also be a part of an IPv6 address or of a password.
    if port.isEmpty || port.contains(where: { "]@".utf8.contains($0) }) { return true }
    return UInt16(Substring(port)) ?? 0 > 0
  }

  /// Escapes characters after the host name that must be escaped; existing escapes are kept.
  private static func escaped(_ text: String) -> String {
    var rest = text.utf8[...]
    var result = ""
    if let slashes = text.prefixMatch(of: /(?:[A-Za-z][A-Za-z0-9+.\-]*:)?\/\//)?.range {
      let path = rest[slashes.upperBound...].firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
      result = String(text[..<path])
      rest = rest[path...]
    }
    var hasFragment = false
    while let byte = rest.popFirst() {
      let character = Character(UnicodeScalar(byte))
      let isKept =
        switch character {
        case "%": rest.prefix(2).count { Character(UnicodeScalar($0)).isHexDigit } == 2
        case "#": !hasFragment
        default: plain.contains(character)
        }
      if character == "#" { hasFragment = true }
      result += isKept ? String(character) : String(format: "%%%02X", byte)
    }
    return result
  }

  private static let plain = Set(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~!$&'()*+,;=:@/?")
}
