import Foundation

/// Determines file names that are safe to use in the download folder.
///
/// A safe name stays in its folder, contains no invisible characters, and can't be mistaken for a
/// partial file or a command-line option.
enum FileNames {
  /// The maximum length of a name, in UTF-8 bytes.
  ///
  /// File systems allow 255 bytes; the rest is reserved for suffixes.
  static let maximumLength = 200

  /// Returns a safe file name for a URL: the last component of its path, or `download`.
  static func name(for url: URL) -> String {
    let path = url.path(percentEncoded: true)
    let last =
      path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[$0...].dropFirst() } ?? path[...]
    // Removing percent escapes is slow, and few names contain any.
    let plain = last.utf8.contains(UInt8(ascii: "%")) ? last.removingPercentEncoding : nil
    return safe(plain ?? String(last))
  }

  /// Returns a unique file name for each request.
  ///
  /// A name that a request specifies is kept, except for unsafe characters. A name from a URL gets
  /// a number if another file has the same name, ignoring case.
  static func names(for requests: [DownloadRequest]) -> [String] {
    var taken = Set(requests.compactMap { $0.name.map { safe($0).lowercased() } })
    var lastNumber: [String: Int] = [:]
    return requests.map { request in
      if let name = request.name { return safe(name) }
      let name = request.mirrors.first.map(name(for:)) ?? "download"
      var candidate = name
      while !taken.insert(candidate.lowercased()).inserted {
        let number = lastNumber[name.lowercased(), default: 1] + 1
        lastNumber[name.lowercased()] = number
        let (stem, suffix) = parts(of: name)
        candidate = stem + "-\(number)" + suffix
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
    let scalars = name.unicodeScalars.map { scalar -> Unicode.Scalar in
      // Looking up the category is slow, and few names need it.
      if scalar.isASCII ? scalar.value < 0x20 || scalar == "\u{7F}" : !scalar.isVisible {
        return "_"
      }
      return scalar == "/" || scalar == "\\" || scalar == ":" ? "_" : scalar
    }
    var result = String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
    if result.allSatisfy({ $0 == "." }) { return "download" }
    if result.hasPrefix(".") || result.hasPrefix("-") { result = "_" + result.dropFirst() }
    result = shortened(result)
    return PartialFile.isPartialName(result) ? result + "_" : result
  }

  private static func shortened(_ name: String) -> String {
    guard name.utf8.count > maximumLength else { return name }
    var (stem, suffix) = parts(of: name)
    if suffix.utf8.count > 20 { (stem, suffix) = (name, "") }
    // Not by characters, because a single one can be longer than that.
    while stem.utf8.count + suffix.utf8.count > maximumLength { stem.unicodeScalars.removeLast() }
    return stem + suffix
  }

  private static func parts(of name: String) -> (stem: String, suffix: String) {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name, "") }
    var stem = name[..<dot]
    if stem.hasSuffix(".tar") { stem = stem.dropLast(4) }
    return (String(stem), String(name[stem.endIndex...]))
  }
}
