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
    let origin = /(?:[A-Za-z][A-Za-z0-9+.\-]*:)?\/\/[^\/?#]*/.matchingSemantics(.unicodeScalar)
    let end = text.prefixMatch(of: origin)?.range.upperBound ?? text.startIndex
    // A fragment can't contain the character that begins it.
    let parts = text[end...].unicodeScalars
      .split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    let escaped = parts.map { part in
      String(part).replacing(/%(?![0-9A-Fa-f]{2})/.matchingSemantics(.unicodeScalar), with: "%25")
        .addingPercentEncoding(withAllowedCharacters: .urlQueryAllowed.union(["%"])) ?? ""
    }
    return text[..<end] + escaped.joined(separator: "#")
  }
}
