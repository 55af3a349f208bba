import Foundation
import Testing

@testable import FetchSupport

@Suite struct FileNamesTests {
  private func requests(_ lines: String...) throws -> [DownloadRequest] {
    try DownloadList.parse(lines.joined(separator: "\n"))
  }

  @Test(arguments: [
    ("http://a/dir/x.zip", "x.zip"),
    ("http://a/x.zip?token=1#part", "x.zip"),
    ("http://a/", "download"),
    ("http://a", "download"),
    ("http://a/dir/", "download"),
    ("http://a/two%20words.txt", "two words.txt"),
    ("http://a/..%2F..%2Fetc%2Fpasswd", "_._.._etc_passwd"),
    ("http://a/%2e%2e", "download"),
    ("http://a/.bashrc", "_bashrc"),
    ("http://a/-rf", "_rf"),
    ("http://a/a%5Cb%3Ac", "a_b_c"),
    ("http://a/a%00b%0Ac", "a_b_c"),
    ("http://a/exe%E2%80%AEgpj.scr", "exe_gpj.scr"),
    ("http://a/%FF%FE", "%FF%FE"),
    ("http://a/x.PART", "x.PART_"),
    ("http://a/x.part.json", "x.part.json_"),
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
    for name in ["", ".", "..", "...", " ", "-", ".part", "a.part", "\0", "/", "a/b", "é\u{301}"] {
      let safe = FileNames.safe(name)
      #expect(FileNames.safe(safe) == safe)
      #expect(!safe.isEmpty && !safe.contains("/"))
    }
  }

  @Test func names_whenTwoAreAlike_numbersTheLater() throws {
    let names = FileNames.names(
      for: try requests(
        "http://a/x.tar.gz", "http://b/x.tar.gz", "http://c/X.tar.gz", "http://a/", "http://b/"))
    #expect(names == ["x.tar.gz", "x-2.tar.gz", "X-3.tar.gz", "download", "download-2"])
  }

  @Test func names_whenNumberedNameIsTaken_takesTheNext() throws {
    let names = FileNames.names(
      for: try requests("http://a/x", "http://b/x-2", "http://c/x", "http://d/x"))
    #expect(names == ["x", "x-2", "x-3", "x-4"])
  }

  @Test func names_whenNameIsAskedFor_keepsItWhateverCameBefore() throws {
    let names = FileNames.names(for: try requests("http://a/x", "http://b/y out=x"))
    #expect(names == ["x-2", "x"])
  }

  @Test func names_whenManyAreAlike_areAllDifferent() throws {
    let request = try #require(try requests("http://a/x.bin").first)
    let names = FileNames.names(for: Array(repeating: request, count: 5000))
    #expect(Set(names).count == 5000)
  }
}
