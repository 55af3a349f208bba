import Foundation
import Testing

@testable import fetch

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
    // References, relative to http://a/b/x:
    ("y%20z[1]", "http://a/b/y%20z%5B1%5D"), ("/y", "http://a/y"),
    ("//c/y|%20", "http://c/y%7C%20"), ("https://d/y", "https://d/y"),
    ("/a%20b//c d", "http://a/a%20b//c%20d"),
    ("y%20z?u=http://c d", "http://a/b/y%20z?u=http://c%20d"),
    ("?q", "http://a/b/x?q"),
    // Ports:
    ("http://a:65535/x", "http://a:65535/x"), ("http://[::1]/x", "http://[::1]/x"),
    ("http://u:99999999@a/x", "http://u:99999999@a/x"), ("http://a/b:70000", "http://a/b:70000"),
    ("http://a?b:70000", "http://a?b:70000"),
    ("http://a:0/x", nil), ("http://a:65536/x", nil), ("http://a:99999999999999999999/x", nil),
    ("http://u:p@[::1]:70000/x", nil), ("http://a:70000", nil), ("http://a:70000/[x]", nil),
    ("//a:70000/[x]", nil),
  ])
  func url_escapesWhatMustBe_andAcceptsUsablePorts(text: String, address: String?) {
    let base = URL(string: "http://a/b/x")
    #expect(Address.url(text, relativeTo: base)?.absoluteString == address)
    if text.hasPrefix("http") { #expect(Address.url(text)?.absoluteString == address) }
  }

  @Test func url_whenTextIsNoAddress_hasNoHost() {
    #expect(Address.url("")?.host() == nil && Address.url("http://[::1")?.host() == nil)
  }

  @Test func withoutCredentials_removesThem() {
    #expect(Address.withoutCredentials("ftp://u:p@h/x@y") == "ftp://…@h/x@y")
    #expect(Address.withoutCredentials("http://u:p@h:bad/x") == "http://…@h:bad/x")
    for text in ["http://h/x@y", "x@y", "", "http://h?u@v"] {
      #expect(Address.withoutCredentials(text) == text)
    }
  }
}
