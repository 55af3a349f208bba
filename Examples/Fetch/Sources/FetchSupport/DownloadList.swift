import Foundation

/// Parses lists of downloads.
///
/// Each line describes one file: a URL, more URLs that serve the same file, and the options
/// `out=NAME` and `sha256=HEX`. Blank lines and comments, from a `#` at the start of a word to the
/// end of the line, are skipped. A word that contains spaces must be in double quotes.
///
/// ```
/// # The same file from two places, verified:
/// https://a.example/x.iso https://b.example/x.iso sha256=9f86d0…
/// https://a.example/?id=7 out="annual report.pdf"
/// ```
public enum DownloadList {
  /// Returns the downloads in `text`, one for each line that isn't blank; `source` is for error
  /// messages, such as a file name.
  ///
  /// The error that is thrown lists all invalid lines, not only the first one.
  public static func parse(
    _ text: String, source: String = "list"
  ) throws(DownloadListError) -> [DownloadRequest] {
    try parse(lines(of: text)) { "\(source):\($0)" }
  }

  /// Returns the downloads in `arguments`, each of which is parsed like one line.
  public static func parse(
    arguments: [String]
  ) throws(DownloadListError) -> [DownloadRequest] {
    try parse(arguments.map { Substring($0) }) { "argument \($0)" }
  }

  /// Throws an error if two requests, which can be from different sources, specify the same file
  /// name, ignoring case.
  public static func requireDistinctNames(
    _ requests: [DownloadRequest]
  ) throws(DownloadListError) {
    var locations: [String: String] = [:]
    var problems: [DownloadListError.Problem] = []
    for request in requests {
      guard let name = request.name else { continue }
      let earlier = locations.updateValue(request.location, forKey: name.lowercased())
      guard let earlier else { continue }
      problems.append(
        .init(
          location: request.location,
          fault: "\"\(name)\" is already the name of the file in \(earlier)"))
    }
    guard problems.isEmpty else { throw DownloadListError(problems: problems) }
  }

  /// Returns the lines of `text`, with any kind of line break.
  ///
  /// Splitting a text into characters takes longer than all other steps, so it is skipped where it
  /// makes no difference.
  private static func lines(of text: String) -> [Substring] {
    let bytes = Array(text.utf8)
    let newline = UInt8(ascii: "\n")
    guard bytes.allSatisfy({ $0 == newline || isPrintable($0) }) else {
      return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    }
    return bytes.split(separator: newline, omittingEmptySubsequences: false)
      .map { Substring(decoding: $0, as: UTF8.self) }
  }

  private static func isPrintable(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: " ") && byte < 0x7F
  }

  private static func parse(
    _ lines: [Substring], location: (Int) -> String
  ) throws(DownloadListError) -> [DownloadRequest] {
    var requests: [DownloadRequest] = []
    var problems: [DownloadListError.Problem] = []
    for (number, line) in zip(1..., lines) {
      do throws(Fault) {
        guard var request = try parse(line: line) else { continue }
        request.location = location(number)
        requests.append(request)
      } catch {
        problems.append(.init(location: location(number), fault: error.text))
      }
    }
    guard problems.isEmpty else { throw DownloadListError(problems: problems) }
    return requests
  }

  private struct Fault: Error {
    var text: String

    init(_ text: String) { self.text = text }
  }

  private static func parse(line: Substring) throws(Fault) -> DownloadRequest? {
    let words = try words(of: line)
    if words.isEmpty { return nil }
    var request = DownloadRequest(mirrors: [])
    for word in words {
      if let digits = word.value(of: "sha256=") {
        guard request.checksum == nil else { throw Fault("sha256= occurs twice") }
        guard let checksum = Checksum(hex: digits) else {
          throw Fault("\"\(digits)\" is not a SHA-256 checksum of 64 hexadecimal digits")
        }
        request.checksum = checksum
      } else if let name = word.value(of: "out=") {
        guard request.name == nil else { throw Fault("out= occurs twice") }
        guard FileNames.isSafe(name) else {
          throw Fault("\"\(name)\" cannot be used as a file name; \(FileNames.safe(name)) can")
        }
        request.name = name
      } else {
        let address = try address(word)
        if !request.mirrors.contains(address) { request.mirrors.append(address) }
      }
    }
    guard !request.mirrors.isEmpty else { throw Fault("this line contains no URL") }
    return request
  }

  private static func address(_ word: String) throws(Fault) -> URL {
    // This applies to most URLs; searching for a substring takes longer than the rest.
    if word.hasPrefix("https://") || word.hasPrefix("http://"),
      word.utf8.allSatisfy({ $0 < 0x80 }), let url = Address.url(word),
      url.host()?.isEmpty == false
    {
      return url
    }
    let shown = Address.withoutCredentials(word)
    guard !word.unicodeScalars.contains("\u{FFFD}") else {
      throw Fault("\"\(shown)\" isn't UTF-8")
    }
    guard let separator = word.range(of: "://") else {
      throw Fault("\"\(shown)\" is neither a URL nor sha256=HEX nor out=NAME")
    }
    let scheme = word[..<separator.lowerBound].lowercased()
    guard scheme == "http" || scheme == "https" else {
      throw Fault("\"\(shown)\" is not an HTTP or HTTPS URL")
    }
    let rest = word[separator.lowerBound...]
    guard let url = Address.url(scheme + rest), let host = url.host(), !host.isEmpty else {
      throw Fault("\"\(shown)\" is not a valid URL; check its host name, port, and spelling")
    }
    return url
  }

  /// Whether only spaces separate words, and nothing is quoted or commented out; such a line can be
  /// parsed by bytes.
  private static func isPlain(_ line: [UInt8]) -> Bool {
    line.allSatisfy { isPrintable($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "#") }
  }

  private static func words(of line: Substring) throws(Fault) -> [String] {
    let bytes = Array(line.utf8)
    if isPlain(bytes) {
      return bytes.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    }
    var words: [String] = []
    var word: String?
    var isQuoted = false
    for character in line where character != "\u{FEFF}" {
      if character == "\"" {
        isQuoted.toggle()
        word = word ?? ""
      } else if isQuoted {
        word?.append(character)
      } else if character.isWhitespace {
        if let complete = word { words.append(complete) }
        word = nil
      } else if character == "#", word == nil {
        return words
      } else {
        word = (word ?? "") + String(character)
      }
    }
    guard !isQuoted else { throw Fault("a double quote is never closed") }
    if let complete = word { words.append(complete) }
    return words
  }
}

/// The error of an invalid list of downloads, with a problem for each invalid line.
public struct DownloadListError: Error, Equatable, CustomStringConvertible {
  /// The problem of one line.
  struct Problem: Sendable, Equatable {
    /// The location of the line, as in `list.txt:3`, or the number of the argument.
    var location: String
    /// What is wrong.
    var fault: String
  }

  /// The problems, in the order of the lines; at least one.
  var problems: [Problem]

  /// The problems, each on a separate line.
  public var description: String {
    problems.map { "\($0.location): \($0.fault)" }.joined(separator: "\n")
  }
}

extension String {
  fileprivate func value(of option: String) -> String? {
    hasPrefix(option) ? String(dropFirst(option.count)) : nil
  }
}
