import Testing

@testable import FetchSupport

@Suite struct ProgressRendererTests {
  private let half = TransferProgress(
    filesDone: 12, filesTotal: 30, bytesDone: 50_000_000, bytesTotal: 100_000_000,
    elapsed: .seconds(5))

  @Test func bar_whenThereIsRoom_showsEverything() {
    #expect(
      ProgressRenderer.bar(half, width: 120)
        == "[===================>                  ]  50%  12/30 files  50.0 MB of 100.0 MB"
        + "  10.0 MB/s  5.0 s left")
  }

  @Test func bar_whenRoomIsShort_leavesOutTheLeastImportantFirst() {
    #expect(
      ProgressRenderer.bar(half, width: 60)
        == "[=========>        ]  50%  12/30 files  50.0 MB of 100.0 MB")
    #expect(ProgressRenderer.bar(half, width: 32) == "[=====>     ]  50%  12/30 files")
    #expect(ProgressRenderer.bar(half, width: 10) == " 50%")
    #expect(ProgressRenderer.bar(half, width: 3) == " 5")
    #expect(ProgressRenderer.bar(half, width: 0) == "")
  }

  @Test func bar_ofAnyWidth_staysWithinIt() {
    for width in 1...200 {
      for fraction in [0, 1, 49_999_999, 99_999_999, 100_000_000, 200_000_000] {
        var progress = half
        progress.bytesDone = fraction
        #expect(ProgressRenderer.bar(progress, width: width).count < width)
      }
    }
  }

  @Test func bar_atTheEnd_isFull() {
    var progress = half
    progress.bytesDone = 100_000_000
    progress.filesDone = 30
    #expect(ProgressRenderer.bar(progress, width: 40).hasPrefix("[====="))
    #expect(ProgressRenderer.bar(progress, width: 40).contains("=] 100%"))
  }

  @Test func fraction_whenSizesAreUnknown_countsFiles() {
    let progress = TransferProgress(filesDone: 2, filesFailed: 1, filesTotal: 4, bytesDone: 77)
    #expect(progress.fraction == 0.75)
    #expect(progress.remaining == nil)
    #expect(ProgressRenderer.line(progress) == " 75%  2/4 files  1 failed  77 B")
    #expect(TransferProgress(filesTotal: 0).fraction == 1)
  }

  @Test func update_ofBar_isDrawnAtOnceAndThenAtIntervals() {
    var renderer = ProgressRenderer { Terminal.Size(columns: 80) }
    var progress = half
    func at(_ milliseconds: Int) -> Bool {
      progress.elapsed = .milliseconds(milliseconds)
      return renderer.update(progress) != nil
    }
    #expect([0, 50, 99, 100, 150, 199, 200, 1000].filter(at) == [0, 100, 200, 1000])
  }

  @Test func update_ofLines_waitsForTheInterval() {
    var renderer = ProgressRenderer(terminal: nil)
    var progress = half
    func at(_ seconds: Int) -> String? {
      progress.elapsed = .seconds(seconds)
      return renderer.update(progress)
    }
    #expect(at(0) == nil)
    #expect(at(4) == nil)
    #expect(at(5)?.hasSuffix("\n") == true)
    #expect(at(9) == nil)
    #expect(at(10)?.contains("\u{1B}") == false)
  }

  @Test func update_ofBar_drawsOverTheLine() {
    var renderer = ProgressRenderer { Terminal.Size(columns: 40) }
    let text = renderer.update(half)
    #expect(text?.hasPrefix("\r\u{1B}[J[") == true)
    #expect(text?.contains("\n") == false)
  }

  @Test func announce_ofBar_putsTheLineAboveIt() {
    var renderer = ProgressRenderer { Terminal.Size(columns: 40) }
    let text = renderer.announce("done: x", half)
    #expect(text.hasPrefix("\r\u{1B}[Jdone: x\n\r\u{1B}[J["))
  }

  @Test func announce_ofLines_isTheLineAlone() {
    var renderer = ProgressRenderer(terminal: nil)
    #expect(renderer.announce("done: x", half) == "done: x\n")
  }

  @Test func finish_endsInALineBreak() {
    var bar = ProgressRenderer { Terminal.Size(columns: 40) }
    var lines = ProgressRenderer(terminal: nil)
    #expect(bar.finish(half).hasSuffix("\r\n"))
    #expect(lines.finish(half) == ProgressRenderer.line(half) + "\n")
  }

  @Test func finish_tellsTheAverageSpeed() {
    var late = half
    late.speed = 3
    var lines = ProgressRenderer(terminal: nil)
    #expect(lines.finish(late) == ProgressRenderer.line(half) + "\n")
  }

  private let row = TransferProgress.Row(
    name: "ubuntu-24.04-desktop-amd64.iso", received: 1_200_000_000, size: 2_600_000_000,
    connections: 4, speed: 88_000_000)

  @Test func row_tellsOfOneFile() {
    #expect(
      ProgressRenderer.row(row, width: 100)
        == "ubuntu-24.04…p-amd64.iso [====>     ]  46%  1.2 GB of 2.6 GB  88.0 MB/s  "
        + "15.9 s left  4 connections")
    #expect(ProgressRenderer.row(row, width: 40) == "ubuntu…64.iso [========>         ]  46%")
    var unsized = row
    unsized.size = nil
    #expect(
      ProgressRenderer.row(unsized, width: 60)
        == "ubuntu-24…amd64.iso 1.2 GB  88.0 MB/s  4 connections")
    var waiting = row
    waiting.note = "retrying in 30.0 s (Retry-After): HTTP status 503"
    #expect(
      ProgressRenderer.row(waiting, width: 60)
        == "ubuntu-24…amd64.iso retrying in 30.0 s (Retry-After): HTTP…")
  }

  @Test func row_ofAnyWidth_staysWithinIt() {
    for width in 1...200 {
      #expect(TextWidth.columns(of: ProgressRenderer.row(row, width: width)) < width)
    }
  }

  /// A terminal whose screen is full of other lines.
  private func fullTerminal(columns: Int, rows: Int) -> SimulatedTerminal {
    let terminal = SimulatedTerminal(columns: columns, rows: rows)
    for line in 0..<30 { terminal.write("before \(line)\n") }
    return terminal
  }

  /// The terminal is resized before each update, each message, and the end.
  @Test(arguments: [20, 39, 40, 41, 79, 80, 120])
  func terminalThatIsResized_showsWhatWasDrawnLast(columns: Int) {
    let terminal = fullTerminal(columns: 80, rows: 24)
    var renderer = ProgressRenderer { terminal.size }
    var progress = half
    progress.rows = [row, row]
    for width in [80, columns, 80, columns, columns, 41] {
      terminal.size.columns = width
      progress.elapsed += .seconds(1)
      terminal.write(renderer.update(progress) ?? "")
      let line = ProgressRenderer.row(row, width: width)
      #expect(
        terminal.lines.dropFirst(29) == [
          "before 29", line, line, ProgressRenderer.bar(progress, width: width),
        ])
    }
    terminal.size.columns = columns
    terminal.write(renderer.announce("message", progress))
    terminal.size.columns = 40
    terminal.write(renderer.finish(progress))
    #expect(terminal.lines[29...30] == ["before 29", "message"])
    #expect(terminal.lines.count == 33 && terminal.lines[31].hasPrefix("["))
  }

  @Test(arguments: 1...12)
  func terminalWithFewRows_showsAsManyFilesAsFit(rows: Int) {
    let terminal = fullTerminal(columns: 80, rows: rows)
    var renderer = ProgressRenderer { terminal.size }
    var progress = half
    progress.rows = Array(repeating: row, count: 20)
    for _ in 0..<3 {
      progress.elapsed += .seconds(1)
      terminal.write(renderer.update(progress) ?? "")
      #expect(terminal.lines.count == 30 + min(9, rows))
    }
    terminal.write(renderer.finish(progress))
    #expect(terminal.lines.count == 32, "the last line is empty")
  }

  @Test func fraction_whileFilesAreMissing_isLessThanOne() {
    var progress = half
    progress.bytesDone = 120_000_000
    #expect(ProgressRenderer.bar(progress, width: 120).contains(" 99%"))
  }

  private func state(of size: Int, received: Int = 0) -> ResumeState {
    var state = ResumeState()
    state.size = size
    state.segments[0].end = size
    state.segments[0].position = received
    return state
  }

  @Test func board_knowsHowFarEachSegmentIs() {
    var board = ProgressBoard(fileCount: 1)
    var state = state(of: 100)
    state.split(into: 2, minimum: 1)
    board.start("a", state)
    board.receive("a", connection: 50, count: 20)
    let row = board.reading(at: .seconds(1)).rows[0]
    #expect(row.received == 20 && row.connections == 1)
  }

  @Test func board_countsBytesOfFilesOnce() {
    var board = ProgressBoard(fileCount: 2)
    board.start("a", state(of: 100))
    board.receive("a", connection: 0, count: 60)
    // The connection breaks and the server sends the file again: each byte counts once.
    board.start("a", state(of: 100))
    board.receive("a", connection: 0, count: 100)
    #expect(board.reading(at: .seconds(1)).bytesDone == 100)
    #expect(board.reading(at: .seconds(1)).bytesTotal == nil, "of b nothing is known")
    board.start("b", state(of: 200, received: 50))
    #expect(board.reading(at: .seconds(1)).bytesTotal == 300)
    board.end("a", byteCount: 100)
    board.wait("b", "waits")
    let reading = board.reading(at: .seconds(2))
    #expect(reading.bytesDone == 150 && reading.filesDone == 1)
    #expect(reading.rows.map(\.note) == ["waits"])
    board.end("b", byteCount: nil)
    #expect(board.reading(at: .seconds(3)).filesFailed == 1)
    #expect(board.reading(at: .seconds(3)).rows.isEmpty)
  }
}
