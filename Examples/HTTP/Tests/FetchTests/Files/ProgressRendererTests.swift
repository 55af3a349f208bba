import Foundation
import Testing

@testable import fetch

@Suite struct ProgressRendererTests {
  private let half = TransferProgress(
    filesDone: 12, filesTotal: 30, bytesDone: 50_000_000, bytesTotal: 100_000_000,
    elapsed: .seconds(5))

  @Test(arguments: [
    (
      120,
      "[===================>                  ]  50%  12/30 files  50.0 MB of 100.0 MB"
        + "  10.0 MB/s  5.0 s left"
    ),
    (60, "[=========>        ]  50%  12/30 files  50.0 MB of 100.0 MB"),
    (32, "[=====>     ]  50%  12/30 files"), (10, " 50%"), (3, " 5"), (0, ""),
  ])
  func bar_whenRoomIsShort_leavesOutTheLeastImportantFirst(width: Int, bar: String) {
    #expect(half.bar(width: width) == bar)
  }

  @Test func bar_ofAnyWidth_staysWithinIt_andIsFullAtTheEndOnly() {
    var progress = half
    for bytes in [0, 1, 49_999_999, 99_999_999, 100_000_000, 200_000_000] {
      progress.bytesDone = bytes
      for width in 1...200 {
        #expect(progress.bar(width: width).count < width)
      }
      #expect(!progress.bar(width: 120).contains("100%"))
    }
    progress.filesDone = 30
    #expect(progress.bar(width: 40).contains("=] 100%"))
  }

  @Test func line_whenSizesAreUnknown_countsFiles() {
    let progress = TransferProgress(filesDone: 2, filesFailed: 1, filesTotal: 4, bytesDone: 77)
    #expect(progress.fraction == 0.75 && progress.remaining == nil)
    #expect(progress.line == " 75%  2/4 files  1 failed  77 B")
    #expect(TransferProgress(filesTotal: 0).fraction == 1)
  }

  /// The bar is drawn over the line, at once and then ten times a second, with messages above it.
  @Test func bar_isRedrawnInPlace() {
    let clear = "\r\u{1B}[J"
    var renderer = ProgressRenderer { 40 }
    var progress = half
    func at(_ milliseconds: Int) -> Bool {
      progress.elapsed = .milliseconds(milliseconds)
      return renderer.update(progress) != nil
    }
    #expect([0, 50, 99, 100, 150, 199, 200, 1000].filter(at) == [0, 100, 200, 1000])
    let bar = clear + half.bar(width: 40) + "\r"
    #expect(renderer.update(half) == bar)
    #expect(renderer.announce("done: x", half) == clear + "done: x\n" + bar)
    #expect(renderer.finish(half) == bar + "\n")
  }

  @Test func lines_areWrittenAtIntervals_andTheLastTellsTheAverageSpeed() {
    var renderer = ProgressRenderer(columns: nil)
    var progress = half
    func at(_ seconds: Int) -> String? {
      progress.elapsed = .seconds(seconds)
      return renderer.update(progress)
    }
    #expect(at(0) == nil && at(4) == nil)
    #expect(at(5) == half.line + "\n")
    #expect(at(9) == nil && at(10) != nil)
    #expect(renderer.announce("done: x", half) == "done: x\n")
    var late = half
    late.speed = 3
    #expect(renderer.finish(late) == half.line + "\n")
  }

  @Test func averageSpeed_whenNoTimeHasPassed_isUnknown() {
    for (bytes, time, speed) in [
      (3_000_000, Duration.zero, nil), (3_000_000, .milliseconds(1500), 2_000_000),
      (.max, .nanoseconds(1), nil),
    ] as [(Int, Duration, Int?)] {
      let progress = TransferProgress(filesTotal: 1, bytesDone: bytes, elapsed: time)
      #expect(progress.averageSpeed == speed)
    }
  }

  @Test func board_countsBytesOfFilesOnce() {
    var board = ProgressBoard(fileCount: 2)
    board.start("a", received: 0, of: 100)
    board.receive("a", count: 60)
    // The connection breaks and the server sends the file again: each byte counts once.
    board.start("a", received: 0, of: 100)
    board.receive("a", count: 100)
    var reading = board.reading(at: .seconds(1))
    #expect(reading.bytesDone == 100 && reading.bytesTotal == nil, "of b nothing is known")
    board.start("b", received: 50, of: 200)
    #expect(board.reading(at: .seconds(1)).bytesTotal == 300)
    board.end("a", byteCount: 100)
    reading = board.reading(at: .seconds(2))
    #expect(reading.bytesDone == 150 && reading.filesDone == 1 && reading.filesFailed == 0)
    board.end("b", byteCount: nil)
    #expect(board.reading(at: .seconds(3)).filesFailed == 1)
  }

  // MARK: - Text and the terminal

  @Test(arguments: [
    (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1049, "1.0 kB"), (1050, "1.1 kB"),
    (999_949, "999.9 kB"), (999_950, "1.0 MB"), (999_999_999, "1.0 GB"),
    (2_500_000_000_000, "2.5 TB"), (Int.max, "9.2 EB"),
  ])
  func bytes_useTheLargestUnitThatFits(count: Int, text: String) {
    #expect(HumanReadable.bytes(count) == text)
  }

  @Test(arguments: [
    (Duration.milliseconds(-5), "0 ms"), (.microseconds(999), "0 ms"),
    (.milliseconds(999), "999 ms"), (.seconds(1), "1.0 s"),
    (.milliseconds(2_449), "2.4 s"), (.milliseconds(2_450), "2.5 s"),
    (.milliseconds(59_949), "59.9 s"), (.milliseconds(59_950), "1 min 00 s"),
    (.seconds(187), "3 min 07 s"), (.milliseconds(3_599_500), "1 h 00 min"),
    (.seconds(7_500), "2 h 05 min"), (.seconds(360_000), "100 h 00 min"),
  ])
  func duration_usesTheTwoLargestUnits(duration: Duration, text: String) {
    #expect(HumanReadable.duration(duration) == text)
  }

  @Test(arguments: [
    ("a\u{1B}[31mb\nc", "a\u{FFFD}[31mb\nc"),
    ("\u{9B}31m\r\u{202E}x", "\u{FFFD}31m\u{FFFD}\u{FFFD}x"),
    ("ü 日本 \u{1F600}", "ü 日本 \u{1F600}"),
  ])
  func printable_hasNoCharactersThatATerminalObeys(text: String, shown: String) {
    #expect(text.printable == shown)
  }

  @Test func terminal_hasColumns_andCanRedrawUnlessItIsDumb() throws {
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    #expect(!Terminal.canRedraw(descriptor, environment: [:]))
    #expect(Terminal.columns(descriptor) == 80)
    for (columns, expected) in [(91, 91), (0, 80)] as [(UInt16, Int)] {
      var (controller, terminal): (Int32, Int32) = (-1, -1)
      var size = winsize(ws_row: 12, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
      try #require(openpty(&controller, &terminal, nil, nil, &size) == 0)
      #expect(Terminal.columns(terminal) == expected)
      #expect(Terminal.canRedraw(terminal, environment: ["TERM": "xterm"]))
      #expect(!Terminal.canRedraw(terminal, environment: ["TERM": "dumb"]))
      close(terminal)
      close(controller)
    }
  }
}
