import Foundation
import Testing

@testable import FetchSupport

@Suite struct MetalinkTests {
  private let sha256 = String(repeating: "ab", count: 32)

  private func document(_ files: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <metalink xmlns="urn:ietf:params:xml:ns:metalink">\(files)</metalink>
    """
  }

  @Test func parse_returnsNamesChecksumsAndMirrorsByPriority() throws {
    let text = document(
      """
      <file name="folder/a.iso">
        <size>14471447</size>
        <hash type="md5">\(String(repeating: "0", count: 32))</hash>
        <hash type="sha-256"> \(sha256) </hash>
        <hash type="sha-512">ignored</hash>
        <pieces length="1048576" type="sha-256"><hash>\(String(repeating: "1", count: 64))</hash></pieces>
        <url>http://last.example/a.iso</url>
        <url location="de" priority="2">http://b.example/a.iso?x=1&amp;y=2</url>
        <url priority="1">https://a.example/a.iso</url>
        <url priority="1">ftp://a.example/a.iso</url>
        <metaurl mediatype="torrent">http://example.com/a.torrent</metaurl>
      </file>
      <file name="b"><url>http://a.example/b</url></file>
      """)
    #expect(Metalink.isLikely(text))
    let requests = try Metalink.parse(text, source: "x.meta4")
    #expect(requests.map(\.name) == ["a.iso", "b"])
    #expect(
      requests[0].mirrors.map(\.absoluteString) == [
        "https://a.example/a.iso", "http://b.example/a.iso?x=1&y=2", "http://last.example/a.iso",
      ])
    #expect(requests[0].checksum == Checksum(hex: sha256, .sha256))
    #expect(requests[1].checksum == nil)
    #expect(requests.map(\.size) == [14_471_447, nil])
  }

  @Test func parse_withAnUnsupportedChecksum_namesIt() throws {
    let text = document(
      "<file name=\"a\"><hash type=\"sha-512\">00</hash><url>http://a.example/a</url></file>")
    let requests = try Metalink.parse(text, source: "x.meta4")
    #expect(requests.map(\.unsupportedChecksum) == ["sha-512"])
    #expect(requests.map(\.checksum) == [nil])
  }

  @Test func parse_ofFaultyDocuments_saysWhatIsWrong() {
    for (text, fault) in [
      ("<metalink", "not valid XML"),
      (document("<files><file name=\"a\"/></files>"), "Metalink 4"),
      (document("<file name=\"a\"><size>x</size></file>"), "not a size"),
      (document("<file name=\"a\"><hash type=\"md5\">0</hash></file>"), "not a md5 checksum"),
      (document("<file name=\"a\"><url>ftp://a.example/a</url></file>"), "has no HTTP URL"),
    ] {
      let error = #expect(throws: DownloadListError.self) {
        try Metalink.parse(text, source: "x.meta4")
      }
      #expect(error?.description.contains(fault) == true, "\(text)")
      #expect(error?.description.hasPrefix("x.meta4") == true)
    }
  }

  @Test func parse_ofNamesThatDifferInCase_tellsWhereTheyAre() throws {
    let text = document(
      """
      <file name="a"><url>http://a.example/1</url></file>
      <file name="x/A"><url>http://a.example/2</url></file>
      """)
    let requests = try Metalink.parse(text, source: "x.meta4")
    let error = #expect(throws: DownloadListError.self) {
      try DownloadList.requireDistinctNames(requests)
    }
    #expect(
      error?.description
        == "x.meta4:3: \"A\" is already the name of the file in x.meta4:2; rename one of them")
  }

  @Test func parse_ofSectionsOfCharacterData_returnsTheirText() throws {
    let text = document(
      "<file name=\"a\"><url><![CDATA[http://a.example/a?x=1&y=2]]></url></file>")
    let requests = try Metalink.parse(text, source: "x.meta4")
    #expect(requests.first?.mirrors.map(\.absoluteString) == ["http://a.example/a?x=1&y=2"])
  }

  @Test func parse_ofNamesThatLeaveTheFolder_makesThemSafe() throws {
    let text = document("<file name=\"../../.bashrc\"><url>http://a.example/b</url></file>")
    #expect(try Metalink.parse(text, source: "x").map(\.name) == ["_bashrc"])
  }

  @Test func lists_areNotMetalink() {
    #expect(!Metalink.isLikely("https://a.example/x"))
    #expect(!Metalink.isLikely(""))
  }
}
