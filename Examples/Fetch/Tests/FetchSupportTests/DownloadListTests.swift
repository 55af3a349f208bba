import Foundation
import Testing

@testable import FetchSupport

@Suite struct DownloadListTests {
  private let digits = String(repeating: "0123456789abcdef", count: 4)

  @Test func parse_whenLineHasAllParts_returnsThem() throws {
    let line = "https://a.example/x http://b.example:8080/x?y=1 sha256=\(digits) out=y.bin"
    let request = try #require(try DownloadList.parse(line).first)
    #expect(
      request.mirrors.map(\.absoluteString) == [
        "https://a.example/x", "http://b.example:8080/x?y=1",
      ])
    #expect(request.checksum == Checksum(hex: digits))
    #expect(request.name == "y.bin")
  }

  @Test func parse_whenOptionsComeFirst_acceptsThem() throws {
    let requests = try DownloadList.parse("out=y sha256=\(digits.uppercased()) http://a/x")
    #expect(requests.first?.name == "y")
    #expect(requests.first?.checksum?.hex == digits)
  }

  @Test func parse_whenTextHasCommentsAndBlankLines_skipsThem() throws {
    let text = """
      \u{FEFF}# heading

         # indented
      http://a/x # the first
      \thttp://a/y#part
      """
    let requests = try DownloadList.parse(text)
    #expect(requests.map { $0.mirrors[0].absoluteString } == ["http://a/x", "http://a/y#part"])
  }

  @Test(arguments: ["\n", "\r\n", "\r"])
  func parse_whenLinesEndInAnyWay_countsThem(end: String) {
    let error = #expect(throws: DownloadListError.self) {
      try DownloadList.parse("http://a/x\(end)\(end)nonsense\(end)", source: "urls.txt")
    }
    #expect(error?.problems.map(\.location) == ["urls.txt:3"])
  }

  @Test func parse_whenTextIsEmpty_returnsNothing() throws {
    #expect(try DownloadList.parse("").isEmpty)
    #expect(try DownloadList.parse("\n# nothing\n").isEmpty)
    #expect(try DownloadList.parse(arguments: []).isEmpty)
  }

  @Test func parse_whenWordIsQuoted_keepsItsSpacesAndHashes() throws {
    let requests = try DownloadList.parse("http://a/x out=\"my # file.pdf\"")
    #expect(requests.first?.name == "my # file.pdf")
  }

  @Test func parse_whenMirrorIsRepeated_keepsOne() throws {
    #expect(try DownloadList.parse("http://a/x http://a/x").first?.mirrors.count == 1)
  }

  @Test func parse_whenSchemeIsInCapitals_lowersIt() throws {
    let url = try DownloadList.parse("HTTP://A.example/X").first?.mirrors.first
    #expect(url?.absoluteString.hasPrefix("http://") == true)
    #expect(url?.absoluteString.hasSuffix("/X") == true)
  }

  @Test(arguments: [
    ("ftp://a/x", "not an HTTP or HTTPS URL"),
    ("a.example/x", "is neither a URL nor sha256=HEX"),
    ("http://a/x md5=00", "is neither a URL nor sha256=HEX"),
    ("http://a/x sha512=00", "is neither a URL nor sha256=HEX"),
    ("http://a/caf\u{FFFD}.txt", "isn't UTF-8"),
    ("http://a/x crc32=00", "is neither a URL nor sha256=HEX"),
    ("http:///x", "not a valid URL"),
    ("sha256=" + String(repeating: "0", count: 64), "no URL"),
    ("http://a/x sha256=123", "not a SHA-256 checksum"),
    ("http://a/x sha256=" + String(repeating: "g", count: 64), "not a SHA-256 checksum"),
    ("http://a/x out=a out=b", "occurs twice"),
    ("http://a/x out=../b", "cannot be used as a file name"),
    ("http://a/x out=/etc/passwd", "cannot be used as a file name"),
    ("http://a/x out=", "cannot be used as a file name"),
    ("http://a/x out=b.part", "cannot be used as a file name"),
    ("http://a/x out=\"b", "never closed"),
  ])
  func parse_whenLineIsFaulty_saysWhatIsWrong(line: String, fault: String) throws {
    let error = #expect(throws: DownloadListError.self) {
      try DownloadList.parse("http://ok/\n" + line, source: "urls.txt")
    }
    let problem = try #require(error?.problems.first)
    #expect(problem.fault.contains(fault))
    #expect(error?.description.hasPrefix("urls.txt:2: ") == true)
  }

  @Test func parse_whenSeveralLinesAreFaulty_reportsThemAll() {
    let error = #expect(throws: DownloadListError.self) {
      try DownloadList.parse("x\nhttp://a/y\nftp://z")
    }
    #expect(error?.problems.map(\.location) == ["list:1", "list:3"])
    #expect(error?.description.split(separator: "\n").count == 2)
  }

  @Test func requireDistinctNames_whenTwoSourcesHaveTheSameName_namesBothPlaces() throws {
    let arguments = try DownloadList.parse(arguments: ["http://a/x out=f", "http://a/g"])
    let list = try DownloadList.parse("# g\nhttp://a/y out=F", source: "urls.txt")
    try DownloadList.requireDistinctNames(arguments)
    let error = #expect(throws: DownloadListError.self) {
      try DownloadList.requireDistinctNames(arguments + list)
    }
    #expect(error?.problems.map(\.location) == ["urls.txt:2"])
    #expect(error?.description.contains("argument 1") == true)
  }
}
