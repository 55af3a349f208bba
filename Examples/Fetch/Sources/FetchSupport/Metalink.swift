import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// Parses lists of downloads in the Metalink format (RFC 5854), which many download pages provide.
///
/// Each file has a name, its URLs in the order of their priorities, and the strongest of its
/// checksums, and its size. URLs other than HTTP and HTTPS, checksums of pieces, and signatures are
/// ignored.
public enum Metalink {
  /// Returns whether `text` is XML, and therefore not a ``DownloadList``.
  public static func isLikely(_ text: String) -> Bool {
    let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
    return start.hasPrefix("<?xml") || start.hasPrefix("<metalink")
  }

  /// Returns the downloads in `text`.
  ///
  /// - Parameters:
  ///   - text: The document.
  ///   - source: The origin of the document, for error messages, such as a file name.
  /// - Returns: The downloads, in the order of the document.
  public static func parse(
    _ text: String, source: String
  ) throws(DownloadListError) -> [DownloadRequest] {
    let reader = Reader()
    let parser = XMLParser(data: Data(text.utf8))
    parser.shouldProcessNamespaces = true
    parser.delegate = reader
    // The parser may accept a truncated document.
    guard parser.parse(), reader.isComplete else {
      throw DownloadListError(problems: [
        .init(
          location: "\(source):\(parser.lineNumber)", fault: "this is not valid XML",
          remedy: "download the list again")
      ])
    }
    var problems = reader.problems.map { line, fault in
      DownloadListError.Problem(
        location: "\(source):\(line)", fault: fault, remedy: "download the list again")
    }
    if reader.files.isEmpty {
      problems.append(
        .init(
          location: source, fault: "this contains no files in the format of RFC 5854 (Metalink 4)",
          remedy: "older versions of Metalink aren't supported"))
    }
    var requests: [DownloadRequest] = []
    for file in reader.files {
      let name = file.name.split(separator: "/").last.map { FileNames.safe(String($0)) }
      let location = "\(source):\(file.line)"
      if file.urls.isEmpty {
        problems.append(
          .init(
            location: location, fault: "\"\(file.name)\" has no HTTP URL",
            remedy: "add one, or remove the file from the list"))
      }
      let mirrors = file.urls.enumerated().sorted {
        ($0.element.priority, $0.offset) < ($1.element.priority, $1.offset)
      }
      var request = DownloadRequest(
        mirrors: mirrors.map(\.element.url), checksum: file.checksum, name: name)
      request.size = file.size
      request.unsupportedChecksum = file.unsupportedChecksum
      request.location = location
      requests.append(request)
    }
    guard problems.isEmpty else { throw DownloadListError(problems: problems) }
    return requests
  }

  /// Collects the files in a document.
  private final class Reader: NSObject, XMLParserDelegate {
    struct File {
      var name: String
      var line: Int
      var urls: [(url: URL, priority: Int)] = []
      var checksum: Checksum?
      var unsupportedChecksum: String?
      var size: Int?
    }

    private(set) var files: [File] = []
    private(set) var problems: [(line: Int, fault: String)] = []
    private(set) var isComplete = false
    private var path: [String] = []
    private var attributes: [String: String] = [:]
    private var text = ""

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
      qualifiedName: String?, attributes: [String: String]
    ) {
      path.append(name)
      text = ""
      self.attributes = attributes
      if path == ["metalink", "file"] {
        files.append(File(name: attributes["name"] ?? "", line: parser.lineNumber))
      }
    }

    func parser(_ parser: XMLParser, foundCharacters characters: String) { text += characters }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
      text += String(decoding: block, as: UTF8.self)
    }

    func parser(
      _ parser: XMLParser, didEndElement name: String, namespaceURI: String?,
      qualifiedName: String?
    ) {
      defer { path.removeLast() }
      let value = text.trimmingCharacters(in: .whitespacesAndNewlines)
      switch path {
      case ["metalink", "file", "url"]:
        guard let url = Address.url(value), ["http", "https"].contains(url.scheme?.lowercased()),
          url.host()?.isEmpty == false
        else { return }
        // Smaller numbers come first, and URLs without a number come last.
        let priority = attributes["priority"].flatMap { Int($0) } ?? .max
        files[files.count - 1].urls.append((url, priority))
      case ["metalink", "file", "hash"]:
        let type = attributes["type"]?.lowercased().filter { $0 != "-" } ?? ""
        guard let algorithm = ChecksumAlgorithm(rawValue: type) else {
          files[files.count - 1].unsupportedChecksum = attributes["type"] ?? "the checksum"
          return
        }
        guard let checksum = Checksum(hex: value, algorithm) else {
          problems.append((parser.lineNumber, "\"\(value)\" is not a \(type) checksum"))
          return
        }
        let known = files[files.count - 1].checksum?.algorithm.digitCount ?? 0
        if algorithm.digitCount > known { files[files.count - 1].checksum = checksum }
      case ["metalink", "file", "size"]:
        if let size = Int(value), size >= 0 {
          files[files.count - 1].size = size
        } else {
          problems.append((parser.lineNumber, "\"\(value)\" is not a size in bytes"))
        }
      case ["metalink"]: isComplete = true
      default: break
      }
    }
  }
}
