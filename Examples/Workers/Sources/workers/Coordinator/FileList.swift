import Crypto
import Foundation

/// A file to fetch, and its checksum.
struct ListedFile: Hashable, Sendable {
  let sha256: String
  let url: URL

  var name: String { url.lastPathComponent }

  /// Returns the file's size, if the file is in `folder` and has the right checksum.
  func size(in folder: URL) throws -> Int? {
    let path = folder.appendingPathComponent(name)
    guard FileManager.default.fileExists(atPath: path.path) else { return nil }
    let file = try FileHandle(forReadingFrom: path)
    var hash = SHA256()
    var size = 0
    while let part = try file.read(upToCount: 1 << 20), !part.isEmpty {
      hash.update(data: part)
      size += part.count
    }
    try file.close()
    return hash.finalize().hexadecimal == sha256 ? size : nil
  }
}

/// The error of a list that can't be read.
struct ListError: Error, CustomStringConvertible {
  let description: String
}

enum FileList {
  /// Parses lines in the format of `sha256sum`, with a URL in place of a name.
  static func read(_ text: String) throws -> [ListedFile] {
    var names: Set<String> = []
    return try text.split(whereSeparator: \.isNewline).enumerated().map { index, line in
      let words = line.split(whereSeparator: \.isWhitespace)
      guard words.count == 2, words[0].utf8.count == 64, words[0].allSatisfy(\.isHexDigit),
        let url = URL(string: String(words[1])), url.scheme?.hasPrefix("http") == true
      else {
        throw ListError(
          description: "Line \(index + 1) isn't a SHA-256 checksum and a URL: \(line)")
      }
      let file = ListedFile(sha256: words[0].lowercased(), url: url)
      guard !["", "/", ".", ".."].contains(file.name), names.insert(file.name).inserted else {
        throw ListError(
          description: "Line \(index + 1) has no file name, or one that occurs twice: \(url)")
      }
      return file
    }
  }
}
