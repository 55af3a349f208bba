import Foundation
import Testing

@testable import fetch

@Suite struct DownloadListTests {
  private static let digits = String(repeating: "0123456789abcdef", count: 4)

  @Test(arguments: [
    ("", []), ("\n# nothing\n", []),
    (
      "https://a.example/x http://b.example:8080/x?y=1 sha256=\(digits) out=y.bin",
      ["https://a.example/x http://b.example:8080/x?y=1 \(digits) y.bin"]
    ),
    ("out=y sha256=\(digits.uppercased()) http://a/x", ["http://a/x \(digits) y"]),
    (
      "\u{FEFF}# heading\n\n   # indented\nhttp://a/x # the first\n\thttp://a/y#part",
      ["http://a/x", "http://a/y#part"]
    ),
    ("http://a/x out=\"my # file.pdf\"", ["http://a/x my # file.pdf"]),
    ("http://a/x http://a/x", ["http://a/x"]),
    ("HTTP://a.example/X", ["http://a.example/X"]),
  ])
  func parse_returnsWhatEachLineSays(text: String, downloads: [String]) throws {
    let shown = try DownloadList.parse(text).map { request in
      (request.mirrors.map(\.absoluteString)
        + [request.checksum?.hex, request.name]
        .compactMap(\.self)).joined(separator: " ")
    }
    #expect(shown == downloads)
  }

  @Test(arguments: [
    ("ftp://a/x", "not an HTTP or HTTPS URL"),
    ("a.example/x", "is neither a URL nor sha256=HEX"),
    ("http://a/x md5=00", "is neither a URL nor sha256=HEX"),
    ("http://a/caf\u{FFFD}.txt", "isn't UTF-8"),
    ("http:///x", "not a valid URL"),
    ("sha256=\(digits)", "no URL"),
    ("http://a/x sha256=123", "not a SHA-256 checksum"),
    ("http://a/x sha256=" + String(repeating: "g", count: 64), "not a SHA-256 checksum"),
    ("http://a/x out=a out=b", "occurs twice"),
    ("http://a/x sha256=\(digits) sha256=\(digits)", "occurs twice"),
    ("http://a/x out=../b", "cannot be used as a file name"),
    ("http://a/x out=/etc/passwd", "cannot be used as a file name"),
    ("http://a/x out=", "cannot be used as a file name"),
    ("http://a/x out=b.fetch-part", "cannot be used as a file name"),
    ("http://a/x out=\"b", "never closed"),
  ])
  func parse_whenLineIsFaulty_saysWhatIsWrong(line: String, fault: String) throws {
    let error = #expect(throws: DownloadListError.self) {
      try DownloadList.parse("http://ok/\n" + line, source: "urls.txt")
    }
    #expect(error?.problems.first?.fault.contains(fault) == true)
    #expect(error?.description.hasPrefix("urls.txt:2: ") == true)
  }

  @Test(arguments: ["\n", "\r\n", "\r"])
  func parse_whenSeveralLinesAreFaulty_reportsThemAll(end: String) {
    let error = #expect(throws: DownloadListError.self) {
      try DownloadList.parse("x\(end)http://a/y\(end)\(end)ftp://z\(end)")
    }
    #expect(error?.problems.map(\.location) == ["list:1", "list:4"])
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

  // MARK: - Names

  @Test(arguments: [
    ("http://a/dir/x.zip", "x.zip"), ("http://a/x.zip?token=1#part", "x.zip"),
    ("http://a/", "download"), ("http://a", "download"), ("http://a/dir/", "download"),
    ("http://a/two%20words.txt", "two words.txt"),
    ("http://a/x%20y%5B1%5D.iso", "x y[1].iso"),
    ("http://a/..%2F..%2Fetc%2Fpasswd", "_._.._etc_passwd"), ("http://a/%2e%2e", "download"),
    ("http://a/.bashrc", "_bashrc"), ("http://a/-rf", "_rf"),
    ("http://a/a%5Cb%3Ac", "a_b_c"), ("http://a/a%00b%0Ac", "a_b_c"),
    ("http://a/exe%E2%80%AEgpj.scr", "exe_gpj.scr"), ("http://a/%FF%FE", "%FF%FE"),
    ("http://a/x.FETCH-PART", "x.FETCH-PART_"),
    ("http://a/x.fetch-part.json", "x.fetch-part.json_"),
    ("http://a/%E6%97%A5%E6%9C%AC.txt", "日本.txt"),
  ])
  func name_fromAddress_isSafe(address: String, name: String) throws {
    let url = try #require(URL(string: address))
    #expect(FileNames.name(for: url) == name)
    #expect(FileNames.isSafe(name))
  }

  @Test func safe_whenNameIsLong_cutsItBeforeItsExtension() {
    let name = FileNames.safe(String(repeating: "é", count: 300) + ".tar.gz")
    #expect(name.hasSuffix("é.tar.gz"))
    #expect(name.utf8.count <= FileNames.maximumLength)
    let marks = FileNames.safe(String(repeating: "\u{301}", count: 300))
    #expect(marks.utf8.count == FileNames.maximumLength)
    #expect(FileNames.safe("x." + String(repeating: "y", count: 300)).utf8.count == 200)
  }

  @Test func safe_ofAnyResult_changesNothing() {
    for name in [
      "", ".", "..", "...", " ", "-", ".fetch-part", "a.fetch-part", "\0", "/", "a/b", "é\u{301}",
    ] {
      let safe = FileNames.safe(name)
      #expect(FileNames.safe(safe) == safe)
      #expect(!safe.isEmpty && !safe.contains("/"))
    }
  }

  @Test(arguments: [
    (
      ["a/x.tar.gz", "b/x.tar.gz", "c/X.tar.gz", "a/", "b/"],
      ["x.tar.gz", "x-2.tar.gz", "X-3.tar.gz", "download", "download-2"]
    ),
    (["a/x", "b/x-2", "c/x", "d/x"], ["x", "x-2", "x-3", "x-4"]),
    (["a/x", "b/y out=x"], ["x-2", "x"]),
    (Array(repeating: "a/x", count: 3000), ["x"] + (2...3000).map { "x-\($0)" }),
  ])
  func names_whenSomeAreAlike_areNumbered(addresses: [String], names: [String]) throws {
    let requests = try DownloadList.parse(arguments: addresses.map { "http://\($0)" })
    #expect(FileNames.names(for: requests) == names)
  }
}
