import Testing

@testable import FetchSupport

@Suite struct SummaryTableTests {
  private let rows = [
    SummaryRow(
      name: "a.iso", size: 734_003_200, time: .seconds(75), tries: 1, mirror: "a.example",
      status: .done),
    SummaryRow(
      name: "日本語.txt", size: 12, time: .milliseconds(40), tries: 3, mirror: "b.example:8080",
      status: .done),
    SummaryRow(
      name: "gone.bin", size: nil, time: .milliseconds(1500), tries: 5, mirror: nil,
      status: .failed("503\nService Unavailable")),
  ]

  @Test func render_alignsColumnsAndAddsTotals() {
    #expect(
      SummaryTable.render(rows, elapsed: .seconds(77)) == """
        File              Size        Time  Tries  Mirror          Status
        ------------  --------  ----------  -----  --------------  -------------------------------
        a.iso         734.0 MB  1 min 15 s      1  a.example       done
        日本語.txt        12 B       40 ms      3  b.example:8080  done
        gone.bin             -       1.5 s      5  -               failed: 503 Service Unavailable
        ------------  --------  ----------  -----  --------------  -------------------------------
        2 of 3 files  734.0 MB  1 min 17 s      9                  1 failed

        """)
  }

  @Test func render_whenAllIsDone_saysSo() {
    let table = SummaryTable.render(Array(rows.prefix(1)), elapsed: .seconds(80))
    #expect(table.contains("1 of 1 files  734.0 MB  1 min 20 s      1             all done\n"))
  }

  @Test func render_ofNoRows_hasTotals() {
    let table = SummaryTable.render([], elapsed: .zero)
    #expect(table.split(separator: "\n").count == 4)
    #expect(table.contains("0 of 0 files"))
  }

  @Test func render_inANarrowTerminal_shortensNamesAndReasons() {
    var rows = rows
    rows[0].name = String(repeating: "long-", count: 20) + "name.iso"
    let lines = SummaryTable.render(rows, elapsed: .seconds(77), width: 90).split(separator: "\n")
    #expect(lines.allSatisfy { TextWidth.columns(of: String($0)) <= 90 })
    #expect(lines[2].hasPrefix("long-lon…ame.iso  "))
    #expect(lines[4].contains("failed: 503"))
    #expect(lines[4].hasSuffix("…"))
    #expect(lines.last?.hasPrefix("2 of 3 files  ") == true)
  }

  @Test func render_whenNothingFitsAnyMore_keepsTheNumbers() {
    let table = SummaryTable.render(rows, elapsed: .seconds(77), width: 10)
    #expect(table.contains("2 of 3 files"))
    #expect(table.contains("734.0 MB"))
  }
}

@Suite struct SummaryTests {
  private func rows(_ count: Int, failed: Int = 0) -> [SummaryRow] {
    (0..<count).map { index in
      SummaryRow(
        name: "file-\(index).bin", size: index < failed ? nil : 1000, time: .seconds(index),
        tries: 1, mirror: nil,
        status: index < failed
          ? .failed("HTTP status 404, the file doesn't exist, from a.example/\(index)") : .done)
    }
  }

  @Test func render_ofManyFiles_fitsAScreen() {
    let text = Summary.render(rows(300, failed: 2), elapsed: .seconds(10), width: 100)
    #expect(text.split(separator: "\n").count < 24)
    #expect(text.contains("file-0.bin") && text.contains("file-1.bin"))
    #expect(text.contains("404"))
    #expect(text.contains("4 min 59 s  file-299.bin"), "the slowest")
    #expect(
      text.hasSuffix("298 of 300 files, 298.0 kB, 10.0 s, 29.8 kB/s, 300 requests, 2 failed\n"))
    #expect(
      Summary.render(rows(300), elapsed: .seconds(10), isComplete: true)
        .split(separator: "\n").count > 300)
  }

  @Test func render_whenNearlyAllFailed_stillFits() {
    let text = Summary.render(rows(300, failed: 290), elapsed: .seconds(10), width: 100)
    #expect(text.split(separator: "\n").count < 32)
    #expect(text.contains("… and 270 more"))
  }

  @Test func render_inANarrowTerminal_isAList() {
    var rows = rows(2, failed: 1)
    rows[1].name = String(repeating: "long-", count: 20)
    let text = Summary.render(rows, elapsed: .seconds(10), width: 40)
    #expect(text.contains("file-0.bin\n  failed: HTTP status 404"))
    #expect(text.split(separator: "\n")[2].count < 40)
    #expect(text.contains("  1.0 kB, 1.0 s\n"))
  }

  @Test func render_ofABrokenOffRun_countsTheMissingFiles() {
    let text = Summary.render(rows(3), fileCount: 60, elapsed: .seconds(10), width: 100)
    #expect(text.hasSuffix("3 of 60 files, 3.0 kB, 10.0 s, 300 B/s, 3 requests\n"))
    let none = Summary.render([], fileCount: 1, elapsed: .seconds(10))
    #expect(none == "0 of 1 files, 0 B, 10.0 s, 0 B/s\n", "the number of requests isn't known")
  }
}

@Suite struct TextWidthTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("…", 1), ("👍🏽", 2), ("한", 2),
  ])
  func columns_ofText_areThoseOfATerminal(text: String, columns: Int) {
    #expect(TextWidth.columns(of: text) == columns)
  }

  @Test func shortened_staysWithinItsWidth() {
    #expect(TextWidth.shortened("abcdefgh", to: 8) == "abcdefgh")
    #expect(TextWidth.shortened("abcdefgh", to: 5) == "ab…gh")
    #expect(TextWidth.shortened("abcdefgh", to: 5, keepEnd: false) == "abcd…")
    #expect(TextWidth.shortened("日本語日本語", to: 6) == "日…語")
    #expect(TextWidth.shortened("abc", to: 1) == "…")
    #expect(TextWidth.shortened("abc", to: 0) == "")
  }
}
