import Foundation
import Testing

@testable import FetchSupport

@Suite struct AddressTests {
  @Test(arguments: [
    ("http://a/x%20y", "http://a/x%20y"),
    ("http://a/x%20y[1].iso", "http://a/x%20y%5B1%5D.iso"),
    ("http://a/x%2Fy|z", "http://a/x%2Fy%7Cz"),
    ("http://a/100%|%2", "http://a/100%25%7C%252"),
    ("http://a/x%20y?q=[%41]#p#q", "http://a/x%20y?q=%5B%41%5D#p%23q"),
    ("http://a/ü%20", "http://a/%C3%BC%20"),
    ("http://[::1]:80/x[1]%20", "http://[::1]:80/x%5B1%5D%20"),
    ("http://a?x^y%20", "http://a?x%5Ey%20"),
  ])
  func url_whenCharactersAreNotEscaped_escapesThemOnly(text: String, address: String) {
    #expect(Address.url(text)?.absoluteString == address)
  }

  @Test(arguments: [
    ("y%20z[1]", "http://a/b/y%20z%5B1%5D"), ("/y", "http://a/y"),
    ("//c/y|%20", "http://c/y%7C%20"), ("https://d/y", "https://d/y"),
    ("/a%20b//c d", "http://a/a%20b//c%20d"),
    ("y%20z?u=http://c d", "http://a/b/y%20z?u=http://c%20d"),
    ("?q", "http://a/b/x?q"),
  ])
  func url_whenReferenceIsRelative_resolvesIt(text: String, address: String) {
    #expect(Address.url(text, relativeTo: URL(string: "http://a/b/x"))?.absoluteString == address)
  }

  @Test(arguments: ["", "http://[::1", "http://a b/"])
  func url_whenTextIsNoAddress_isNil(text: String) {
    let url = Address.url(text)
    #expect(url?.host()?.isEmpty ?? true || text.contains(" "))
  }

  @Test(arguments: [
    "http://a:0/x", "http://a:65536/x", "http://a:99999999999999999999/x",
    "http://u:p@[::1]:70000/x",
    "http://a:70000", "http://a:70000/[x]",
  ])
  func url_withAnImpossiblePort_isNil(text: String) {
    #expect(Address.url(text) == nil)
    #expect(Address.url("//" + text.dropFirst(7), relativeTo: URL(string: "http://a/b")) == nil)
  }

  @Test(arguments: [
    "http://a:65535/x", "http://a:/x", "http://[::1]/x", "http://u:99999999@a/x",
    "http://a/b:70000",
    "http://a?b:70000",
  ])
  func url_withAUsablePort_isReturned(text: String) {
    #expect(Address.url(text) != nil)
  }

  @Test func withoutCredentials_removesThem() {
    #expect(Address.withoutCredentials("ftp://u:p@h/x@y") == "ftp://…@h/x@y")
    #expect(Address.withoutCredentials("http://u:p@h:bad/x") == "http://…@h:bad/x")
    for text in ["http://h/x@y", "x@y", "", "http://h?u@v"] {
      #expect(Address.withoutCredentials(text) == text)
    }
  }

  @Test func name_ofAnAddressWithBrackets_hasNoEscapes() throws {
    let requests = try DownloadList.parse("http://a/x%20y[1].iso")
    #expect(FileNames.names(for: requests) == ["x y[1].iso"])
  }
}
