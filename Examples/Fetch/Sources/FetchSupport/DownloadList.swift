import Foundation

/// Parses lists of downloads.
///
/// Each line describes one file: a URL, more URLs that serve the same file, and the options
/// `out=NAME` and `sha256=HEX`, `sha1=HEX`, or `md5=HEX`. Blank lines and comments, from a `#` at
/// the start of a word to the end of the line, are skipped. A word that contains spaces must be in
/// double quotes.
///
/// ```
/// # The same file from two places, verified:
/// https://a.example/x.iso https://b.example/x.iso sha256=9f86d0…
/// https://a.example/?id=7 out="annual report.pdf"
/// ```
public enum DownloadList {
  /// Returns the downloads in `text`, one for each line that isn't blank.
  ///
  /// The error that is thrown lists all invalid lines, not only the first one.
  ///
  /// - Parameters:
  ///   - text: The list.
  ///   - source: The origin of the list, for error messages, such as a file name.
  /// - Returns: The downloads, in the order of the lines.
  public static func parse(
    _ text: String, source: String = "list"
  ) throws(DownloadListError) -> [DownloadRequest] {
    try parse(lines(of: text)) { "\(source):\($0)" }
  }

  /// Returns the downloads in `arguments`, each of which is parsed like one line.
  ///
  /// - Parameter arguments: The arguments of a command line.
  /// - Returns: The downloads, in the order of the arguments.
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
          fault: "\"\(name)\" is already the name of the file in \(earlier)",
          remedy: "rename one of them"))
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
      do throws(LineFault) {
        guard var request = try parse(line: line) else { continue }
        request.location = location(number)
        requests.append(request)
      } catch {
        problems.append(
          .init(location: location(number), fault: error.fault, remedy: error.remedy))
      }
    }
    guard problems.isEmpty else { throw DownloadListError(problems: problems) }
    return requests
  }

  private static func parse(line: Substring) throws(LineFault) -> DownloadRequest? {
    let words = try words(of: line)
    if words.isEmpty { return nil }
    var request = DownloadRequest(mirrors: [])
    for word in words {
      if let (algorithm, option) = checksumOptions.first(where: { word.hasPrefix($0.option) }) {
        guard request.checksum == nil else { throw LineFault.twice("a checksum") }
        request.checksum = try checksum(word.dropFirst(option.count), algorithm)
      } else if let name = word.value(of: "out=") {
        guard request.name == nil else { throw LineFault.twice("out=") }
        request.name = try fileName(name)
      } else {
        let address = try address(word)
        if !request.mirrors.contains(address) { request.mirrors.append(address) }
      }
    }
    guard !request.mirrors.isEmpty else {
      throw LineFault("this line contains no URL", "start it with the URL of the file")
    }
    return request
  }

  private static let checksumOptions = ChecksumAlgorithm.allCases.map { algorithm in
    (algorithm: algorithm, option: "\(algorithm.rawValue)=")
  }

  private static func checksum(
    _ digits: Substring, _ algorithm: ChecksumAlgorithm
  ) throws(LineFault) -> Checksum {
    guard let checksum = Checksum(hex: String(digits), algorithm) else {
      throw LineFault(
        "\"\(digits)\" is not a \(algorithm.rawValue) checksum",
        "write \(algorithm.digitCount) hexadecimal digits after \(algorithm.rawValue)=")
    }
    return checksum
  }

  private static func fileName(_ name: String) throws(LineFault) -> String {
    guard FileNames.isSafe(name) else {
      throw LineFault(
        "\"\(name)\" cannot be used as a file name",
        "write a plain name after out=, such as \(FileNames.safe(name))")
    }
    return name
  }

  private static func address(_ word: String) throws(LineFault) -> URL {
    // This applies to most URLs; searching for a substring takes longer than the rest.
    if word.hasPrefix("https://") || word.hasPrefix("http://"), let url = Address.url(word),
      url.host()?.isEmpty == false
    {
      return url
    }
    let shown = Address.withoutCredentials(word)
    guard let separator = word.range(of: "://") else {
      throw LineFault(
        "\"\(shown)\" is neither a URL nor an option",
        "write URLs with http:// or https:// and options as sha256=HEX or out=NAME")
    }
    let scheme = word[..<separator.lowerBound].lowercased()
    guard scheme == "http" || scheme == "https" else {
      throw LineFault(
        "\"\(shown)\" is not an HTTP or HTTPS URL",
        "use a URL that starts with http:// or https://")
    }
    let rest = word[separator.lowerBound...]
    guard let url = Address.url(scheme + rest), let host = url.host(), !host.isEmpty else {
      throw LineFault("\"\(shown)\" is not a valid URL", "check its host name, port, and spelling")
    }
    return url
  }

  /// Whether only spaces separate words, and nothing is quoted or commented out; such a line can be
  /// parsed by bytes.
  private static func isPlain(_ line: [UInt8]) -> Bool {
    line.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "#"): false
      default: isPrintable(byte)
      }
    }
  }

  private static func words(of line: Substring) throws(LineFault) -> [String] {
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
    guard !isQuoted else {
      throw LineFault("a double quote is never closed", "add the closing quote")
    }
    if let complete = word { words.append(complete) }
    return words
  }
}

/// The error of an invalid list of downloads, with a problem for each invalid line.
public struct DownloadListError: Error, Equatable, CustomStringConvertible {
  /// The problem of one line.
  public struct Problem: Sendable, Equatable, CustomStringConvertible {
    /// The location of the line, as in `list.txt:3`, or the number of the argument.
    public var location: String

    /// What is wrong.
    public var fault: String

    /// How to correct it.
    public var remedy: String

    /// The problem, as one line of text.
    public var description: String { "\(location): \(fault); \(remedy)" }
  }

  /// The problems, in the order of the lines; at least one.
  public var problems: [Problem]

  /// The problems, each on a separate line.
  public var description: String {
    problems.map(\.description).joined(separator: "\n")
  }
}

private struct LineFault: Error {
  var fault: String
  var remedy: String

  init(_ fault: String, _ remedy: String) {
    self.fault = fault
    self.remedy = remedy
  }

  static func twice(_ option: String) -> LineFault {
    LineFault("\(option) occurs twice", "remove one of them")
  }
}

extension String {
  fileprivate func value(of option: String) -> String? {
    hasPrefix(option) ? String(dropFirst(option.count)) : nil
  }
}
