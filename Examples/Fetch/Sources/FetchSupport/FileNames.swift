import Foundation

/// Determines file names that are safe to use in the download folder.
///
/// A safe name stays in its folder, contains no invisible characters, and can't be mistaken for a
/// partial file or a command-line option.
public enum FileNames {
  /// The maximum length of a name, in UTF-8 bytes.
  ///
  /// File systems allow 255 bytes; the rest is reserved for suffixes.
  static let maximumLength = 200

  /// Returns a safe file name for a URL: the last component of its path, or `download`.
  static func name(for url: URL) -> String {
    let path = url.path(percentEncoded: true)
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let last = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
    // Removing percent escapes is slow, and few names contain any.
    let plain = last.utf8.contains(UInt8(ascii: "%")) ? last.removingPercentEncoding : nil
    return safe(plain ?? last)
  }

  /// Returns a unique file name for each request.
  ///
  /// A name that a request specifies is kept, except for unsafe characters. A name from a URL gets
  /// a number if another file has the same name, ignoring case.
  public static func names(for requests: [DownloadRequest]) -> [String] {
    var taken = Set(requests.compactMap { $0.name.map { safe($0).lowercased() } })
    var lastNumber: [String: Int] = [:]
    return requests.map { request in
      if let name = request.name { return safe(name) }
      let name = request.mirrors.first.map(name(for:)) ?? "download"
      var candidate = name
      while !taken.insert(candidate.lowercased()).inserted {
        let number = lastNumber[name.lowercased(), default: 1] + 1
        lastNumber[name.lowercased()] = number
        candidate = numbered(name, number)
      }
      return candidate
    }
  }

  /// Returns whether `name` can be used as is.
  static func isSafe(_ name: String) -> Bool { safe(name) == name }

  /// Returns `name` with unsafe characters replaced.
  ///
  /// Separators and control and invisible characters become underscores, and so does a leading dot
  /// or hyphen. Long names are truncated before their extension. A name that a partial file could
  /// have gets a trailing underscore. If nothing is left, the result is `download`.
  static func safe(_ name: String) -> String {
    if isEvidentlySafe(name) { return name }
    var scalars = String.UnicodeScalarView()
    for scalar in name.unicodeScalars {
      scalars.append(isPlain(scalar) ? scalar : "_")
    }
    var result = String(scalars).trimmingCharacters(in: .whitespaces)
    let rest = result.drop { $0 == "." }
    if rest.isEmpty { return "download" }
    if result.hasPrefix(".") || result.hasPrefix("-") {
      result = "_" + result.dropFirst()
    }
    result = shortened(result, to: maximumLength)
    return PartialFile.isPartialName(result) ? result + "_" : result
  }

  /// Whether `name` starts with a letter or digit, and contains only letters, digits, hyphens,
  /// underscores, and dots, as most names do.
  private static func isEvidentlySafe(_ name: String) -> Bool {
    guard let first = name.utf8.first, isAlphanumeric(first), name.utf8.count <= maximumLength
    else {
      return false
    }
    let isPlain = name.utf8.allSatisfy { isAlphanumeric($0) || "-_.".utf8.contains($0) }
    return isPlain && !PartialFile.isPartialName(name)
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    if "/\\:".unicodeScalars.contains(scalar) { return false }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: return false
    default: return true
    }
  }

  private static func numbered(_ name: String, _ number: Int) -> String {
    let (stem, suffix) = parts(of: name)
    return stem + "-\(number)" + suffix
  }

  private static func shortened(_ name: String, to length: Int) -> String {
    guard name.utf8.count > length else { return name }
    var (stem, suffix) = parts(of: name)
    if suffix.utf8.count > 20 { (stem, suffix) = (name, "") }
    // Not by characters, because a single one can be longer than that.
    while stem.utf8.count + suffix.utf8.count > length { stem.unicodeScalars.removeLast() }
    return stem + suffix
  }

  private static func parts(of name: String) -> (stem: String, suffix: String) {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name, "") }
    var stem = name[..<dot]
    if stem.hasSuffix(".tar") { stem = stem.dropLast(4) }
    return (String(stem), String(name[stem.endIndex...]))
  }
}
