import Foundation

/// A list of checksums and file names in the format of `sha256sum`, `sha1sum`, and `md5sum`.
///
/// Each line consists of a checksum, a space, a space or an asterisk, and a name. Their alternative
/// format, as in `SHA256 (name) = 9f86…`, is also supported. Like these programs, this skips other
/// lines, such as those of a PGP signature, which isn't verified.
public struct ChecksumList: Sendable {
  /// The checksums by name, and by the last path component of the name; nil if there are several.
  private var checksums: [String: Checksum?] = [:]

  /// Parses the text of a list.
  public init(_ text: String) {
    for line in text.split(whereSeparator: \.isNewline) {
      guard let (name, checksum) = Self.entry(line.drop { $0 == "\u{FEFF}" }) else { continue }
      add(checksum, for: name)
      let last = name.split(separator: "/").last.map(String.init) ?? name
      if last != name { add(checksum, for: last) }
    }
  }

  /// Returns the checksum for a file name; nil if there is none, or if several paths end in this
  /// name and have different checksums.
  public subscript(name: String) -> Checksum? { checksums[name] ?? nil }

  /// Returns the checksum for the last component of one of the URLs of a request, or, if the list
  /// contains none of them, for its name.
  public func checksum(for request: DownloadRequest) -> Checksum? {
    let names = request.mirrors.map(FileNames.remoteName) + [request.name].compactMap(\.self)
    return names.lazy.compactMap { self[$0] }.first
  }

  private mutating func add(_ checksum: Checksum, for name: String) {
    let isSame = checksums[name].map { $0 == checksum } ?? true
    checksums.updateValue(isSame ? checksum : nil, forKey: name)
  }

  private static func entry(_ line: Substring) -> (name: String, checksum: Checksum)? {
    // A backslash at the start means that the name contains escapes.
    if line.hasPrefix("\\"), let (name, checksum) = entry(line.dropFirst()) {
      return (unescaped(name), checksum)
    }
    if let match = line.wholeMatch(of: /(SHA256|SHA1|MD5) \((.+)\) = ([0-9a-fA-F]+)/) {
      let algorithm = ChecksumAlgorithm(rawValue: match.1.lowercased())
      return Checksum(hex: String(match.3), algorithm).map { (String(match.2), $0) }
    }
    guard let match = line.wholeMatch(of: /([0-9a-fA-F]+) [ *](.+)/) else { return nil }
    return Checksum(hex: String(match.1)).map { (String(match.2), $0) }
  }

  private static func unescaped(_ name: String) -> String {
    name.replacing(/\\(.)/) { match in
      switch match.1 {
      case "n": "\n"
      case "r": "\r"
      default: String(match.1)
      }
    }
  }
}
