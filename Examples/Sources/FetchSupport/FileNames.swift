import Foundation

/// Names of files that are safe to write in the download folder.
///
/// A safe name stays in its folder, shows as what it is, and is never mistaken
/// for a partial file or an option of a command.
public enum FileNames {
  /// The most bytes that a name may take in UTF-8.
  ///
  /// File systems allow 255; the rest is for suffixes.
  public static let maximumLength = 200

  /// Returns the name under which to save what `url` serves.
  ///
  /// It is the last part of the address's path, made safe, or `download` where
  /// the path ends in a slash.
  ///
  /// - Parameter url: The address of the file.
  /// - Returns: A safe name.
  public static func name(for url: URL) -> String {
    let path = url.path(percentEncoded: true)
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let last = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
    // Taking out escapes is slow, and few names have one.
    let plain = last.utf8.contains(UInt8(ascii: "%")) ? last.removingPercentEncoding : nil
    return safe(plain ?? last)
  }

  /// Returns the names under which to save `requests`, all different.
  ///
  /// A name that was asked for is kept. A name taken from an address gets a
  /// number when another file has it, also where the two differ by case alone.
  ///
  /// - Parameter requests: The downloads.
  /// - Returns: A safe name for each request, in the same order.
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

  /// Returns whether `name` can be used as it is.
  ///
  /// - Parameter name: The name.
  /// - Returns: Whether ``safe(_:)`` would leave it alone.
  public static func isSafe(_ name: String) -> Bool {
    safe(name) == name
  }

  /// Returns `name` with all that makes it unsafe replaced.
  ///
  /// Separators, control and invisible characters become underscores, and so
  /// does a first dot or hyphen. A long name is cut before its extension. A
  /// name that a partial file could have gets an underscore at its end.
  ///
  /// - Parameter name: Any text.
  /// - Returns: A safe name; `download` if nothing is left.
  public static func safe(_ name: String) -> String {
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

  /// Whether `name` starts with a letter or a digit and consists of such, of hyphens, underscores, and
  /// dots, as most names do.
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
    while stem.utf8.count + suffix.utf8.count > length { stem.removeLast() }
    return stem + suffix
  }

  private static func parts(of name: String) -> (stem: String, suffix: String) {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name, "") }
    var stem = name[..<dot]
    if stem.hasSuffix(".tar") { stem = stem.dropLast(4) }
    return (String(stem), String(name[stem.endIndex...]))
  }
}
