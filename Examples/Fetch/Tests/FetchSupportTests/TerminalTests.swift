import Foundation
import Testing

@testable import FetchSupport

@Suite struct TerminalTests {
  @Test(arguments: [
    ("a\u{1B}[31mb\nc", "a\u{FFFD}[31mb\nc"),
    ("\u{9B}31m\r\u{202E}x", "\u{FFFD}31m\u{FFFD}\u{FFFD}x"),
    ("ü 日本 \u{1F600}", "ü 日本 \u{1F600}"),
  ])
  func printable_hasNoCharactersThatATerminalObeys(text: String, shown: String) {
    #expect(text.printable == shown)
  }

  @Test func canRedraw_onAPipe_isFalse() throws {
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    #expect(!Terminal.canRedraw(descriptor, environment: [:]))
    #expect(Terminal.size(descriptor) == Terminal.Size(columns: 80, rows: 24))
  }

  @Test func canRedraw_onATerminal_isTrueUnlessItIsDumb() throws {
    try withTerminal(columns: 91) { terminal in
      #expect(Terminal.canRedraw(terminal, environment: ["TERM": "xterm"]))
      #expect(!Terminal.canRedraw(terminal, environment: ["TERM": "dumb"]))
    }
  }

  @Test func size_ofATerminal_isThatOfItsWindow() throws {
    try withTerminal(columns: 91) {
      #expect(Terminal.size($0) == Terminal.Size(columns: 91, rows: 12))
    }
    try withTerminal(columns: 0) {
      #expect(Terminal.size($0) == Terminal.Size(columns: 80, rows: 12))
    }
  }

  private func withTerminal(columns: UInt16, _ body: (Int32) throws -> Void) throws {
    var controller: Int32 = -1
    var terminal: Int32 = -1
    var size = winsize(ws_row: 12, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    try #require(openpty(&controller, &terminal, nil, nil, &size) == 0)
    defer {
      close(terminal)
      close(controller)
    }
    try body(terminal)
  }
}
