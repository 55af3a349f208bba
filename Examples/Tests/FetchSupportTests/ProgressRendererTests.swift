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
    var renderer = ProgressRenderer(style: .bar(width: 80))
    var progress = half
    func at(_ milliseconds: Int) -> Bool {
      progress.elapsed = .milliseconds(milliseconds)
      return renderer.update(progress) != nil
    }
    #expect([0, 50, 99, 100, 150, 199, 200, 1000].filter(at) == [0, 100, 200, 1000])
  }

  @Test func update_ofLines_waitsForTheInterval() {
    var renderer = ProgressRenderer(style: .lines, interval: .seconds(2))
    var progress = half
    func at(_ seconds: Int) -> String? {
      progress.elapsed = .seconds(seconds)
      return renderer.update(progress)
    }
    #expect(at(0) == nil)
    #expect(at(1) == nil)
    #expect(at(2)?.hasSuffix("\n") == true)
    #expect(at(3) == nil)
    #expect(at(4)?.contains("\u{1B}") == false)
  }

  @Test func update_ofBar_drawsOverTheLine() {
    var renderer = ProgressRenderer(style: .bar(width: 40))
    let text = renderer.update(half)
    #expect(text?.hasPrefix("\r[") == true)
    #expect(text?.hasSuffix("\u{1B}[K") == true)
    #expect(text?.contains("\n") == false)
  }

  @Test func announce_ofBar_putsTheLineAboveIt() {
    var renderer = ProgressRenderer(style: .bar(width: 40))
    let text = renderer.announce("done: x", half)
    #expect(text.hasPrefix("\r\u{1B}[Kdone: x\n\r["))
  }

  @Test func announce_ofLines_isTheLineAlone() {
    var renderer = ProgressRenderer(style: .lines)
    #expect(renderer.announce("done: x", half) == "done: x\n")
  }

  @Test func finish_endsInALineBreak() {
    var bar = ProgressRenderer(style: .bar(width: 40))
    var lines = ProgressRenderer(style: .lines)
    #expect(bar.finish(half).hasSuffix("\n"))
    #expect(lines.finish(half) == ProgressRenderer.line(half) + "\n")
  }
}
