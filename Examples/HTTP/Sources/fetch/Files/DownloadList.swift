import Foundation

/// A file to download, as specified by a list or by arguments.
struct DownloadRequest: Sendable, Equatable {
  /// The URLs that serve the file, in the order in which they were specified; at least one.
  var mirrors: [URL] = []
  var checksum: Checksum?
  /// The file name, if it is specified.
  var name: String?
  /// Where the request is specified, for error messages, as in `list.txt:3`.
  var location: String
}

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
enum DownloadList {
  /// Returns the downloads in `text`, one for each line that isn't blank; `source` is for error
  /// messages, such as a file name.
  ///
  /// The error that is thrown lists all invalid lines, not only the first one.
  static func parse(
    _ text: String, source: String = "list"
  ) throws(DownloadListError) -> [DownloadRequest] {
    // Bytes, because splitting a text into characters takes longer than all other steps.
    let lines = text.replacingOccurrences(of: "\r\n", with: "\n").utf8
      .split(omittingEmptySubsequences: false) { $0 == newline || $0 == carriageReturn }
    return try parse(lines.map { Substring($0) }) { "\(source):\($0)" }
  }

  /// Returns the downloads in `arguments`, each of which is parsed like one line.
  static func parse(arguments: [String]) throws(DownloadListError) -> [DownloadRequest] {
    try parse(arguments.map { Substring($0) }) { "argument \($0)" }
  }

  /// Throws an error if two requests, which can be from different sources, specify the same file
  /// name, ignoring case.
  static func requireDistinctNames(_ requests: [DownloadRequest]) throws(DownloadListError) {
    var locations: [String: String] = [:]
    var problems: [DownloadListError.Problem] = []
    for request in requests {
      guard let name = request.name,
        let earlier = locations.updateValue(request.location, forKey: name.lowercased())
      else { continue }
      let fault = "\"\(name)\" is already the name of the file in \(earlier)"
      problems.append(.init(location: request.location, fault: fault))
    }
    guard problems.isEmpty else { throw DownloadListError(problems: problems) }
  }

  private static func parse(
    _ lines: [Substring], location: (Int) -> String
  ) throws(DownloadListError) -> [DownloadRequest] {
    var requests: [DownloadRequest] = []
    var problems: [DownloadListError.Problem] = []
    for (number, line) in zip(1..., lines) {
      do throws(Fault) {
        let words = try words(of: line)
        if !words.isEmpty { requests.append(try request(words, location(number))) }
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

  private static func request(
    _ words: [String], _ location: String
  ) throws(Fault) -> DownloadRequest {
    var request = DownloadRequest(location: location)
    for word in words {
      if word.hasPrefix("sha256=") {
        let digits = String(word.dropFirst(7))
        guard request.checksum == nil else { throw Fault("sha256= occurs twice") }
        guard let checksum = Checksum(hex: digits) else {
          throw Fault("\"\(digits)\" is not a SHA-256 checksum of 64 hexadecimal digits")
        }
        request.checksum = checksum
      } else if word.hasPrefix("out=") {
        let name = String(word.dropFirst(4))
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
    let shown = Address.withoutCredentials(word)
    guard !word.unicodeScalars.contains("\u{FFFD}") else { throw Fault("\"\(shown)\" isn't UTF-8") }
    guard let colon = word.utf8.firstIndex(of: UInt8(ascii: ":")),
      word[colon...].hasPrefix("://")
    else { throw Fault("\"\(shown)\" is neither a URL nor sha256=HEX nor out=NAME") }
    let scheme = word[..<colon].lowercased()
    guard scheme == "http" || scheme == "https" else {
      throw Fault("\"\(shown)\" is not an HTTP or HTTPS URL")
    }
    guard let url = Address.url(scheme + word[colon...]), url.host()?.isEmpty == false else {
      throw Fault("\"\(shown)\" is not a valid URL; check its host name, port, and spelling")
    }
    return url
  }

  private static let (newline, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))

  private static func words(of line: Substring) throws(Fault) -> [String] {
    var words: [String] = []
    var word: [UInt8]?
    var isQuoted = false
    for byte in line.trimmingPrefix("\u{FEFF}").utf8 {
      if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
        word = word ?? []
      } else if !isQuoted, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") {
        if let complete = word { words.append(String(decoding: complete, as: UTF8.self)) }
        word = nil
      } else if !isQuoted, byte == UInt8(ascii: "#"), word == nil {
        return words
      } else {
        if word == nil { word = [] }
        word?.append(byte)
      }
    }
    guard !isQuoted else { throw Fault("a double quote is never closed") }
    if let complete = word { words.append(String(decoding: complete, as: UTF8.self)) }
    return words
  }
}

/// The error of an invalid list of downloads, with a problem for each invalid line.
struct DownloadListError: Error, Equatable, CustomStringConvertible {
  struct Problem: Sendable, Equatable {
    /// The location of the line, as in `list.txt:3`, or the number of the argument.
    var location: String
    var fault: String
  }

  /// The problems, in the order of the lines; at least one.
  var problems: [Problem]

  /// The problems, each on a separate line.
  var description: String { problems.map { "\($0.location): \($0.fault)" }.joined(separator: "\n") }
}
