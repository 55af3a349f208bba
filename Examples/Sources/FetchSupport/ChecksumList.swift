import Foundation

/// Parses lists of checksums and file names in the format of `sha256sum`, `sha1sum`, and `md5sum`.
///
/// Each line consists of a checksum, a space, a space or an asterisk, and a name. Their alternative
/// format, as in `SHA256 (name) = 9f86…`, is also supported.
public enum ChecksumList {
  /// Returns the checksums in `text`, by the last path component of the names.
  ///
  /// - Parameters:
  ///   - text: The list.
  ///   - source: The origin of the list, for error messages.
  public static func parse(
    _ text: String, source: String
  ) throws(DownloadListError) -> [String: Checksum] {
    var checksums: [String: Checksum] = [:]
    var problems: [DownloadListError.Problem] = []
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() where !line.isEmpty && !line.hasPrefix("#") {
      if let (name, checksum) = entry(line) {
        checksums[name.split(separator: "/").last.map(String.init) ?? name] = checksum
      } else {
        problems.append(
          .init(
            location: "\(source):\(index + 1)", fault: "this is not a checksum and a file name",
            remedy: "create the list with sha256sum"))
      }
    }
    guard problems.isEmpty else { throw DownloadListError(problems: problems) }
    return checksums
  }

  private static func entry(_ line: Substring) -> (name: String, checksum: Checksum)? {
    if let match = line.wholeMatch(of: /(SHA256|SHA1|MD5) \((.+)\) = ([0-9a-fA-F]+)/) {
      let algorithm = ChecksumAlgorithm(rawValue: match.1.lowercased())
      return Checksum(hex: String(match.3), algorithm).map { (String(match.2), $0) }
    }
    guard let match = line.wholeMatch(of: /([0-9a-fA-F]+) [ *](.+)/) else { return nil }
    return Checksum(hex: String(match.1)).map { (String(match.2), $0) }
  }
}
