@_spi(DropIns) import Pledge
@testable import PledgeDiagnostics

/// The data of a page; see `Timeline` for the names.
private struct Page: Decodable {
  struct Row: Decodable {
    let o, d, h, u: Int
    let z, l, a, w, v: Int?
    let i: [Int]
  }

  let notices, strings: [String]
  let rows: [Row]
}

extension TraceTests {
  @Suite struct ExportTests {
    /// Text that would end a script element, a string, or a line if it were not escaped.
    private static let trap = "</script><!--<script>\"quoted\" \\ \n\u{2028}\u{1}"

    private struct Trap: Error, CustomStringConvertible {
      var description: String { ExportTests.trap }
    }

    /// Returns the page's embedded data, up to where a browser sees its end.
    private func embedded(_ trace: Trace) throws -> Page {
      let page = String(decoding: try trace.timelinePage(), as: UTF8.self)
      let start = try #require(page.range(of: "<script type=\"application/json\" id=\"data\">"))
      let rest = page[start.upperBound...]
      let end = try #require(rest.range(of: "</script"))
      let data = Data(rest[..<end.lowerBound].utf8)
      return try JSONDecoder().decode(Page.self, from: data)
    }

    /// Returns the rows of the page: each operation with its depth, in order.
    private func outline(_ page: Page) -> [String] {
      page.rows.map { String(repeating: " ", count: $0.d) + page.strings[$0.o] }
    }

    @Test func textThatLooksLikeMarkup_staysText() throws {
      try tracing(capturesPlaces: false) { trace in
        let promise = Promise<Int>.rejected(Trap(), fileID: "</script>/<!--.swift", line: 3)
        promise.ignoreErrors()
        let strings = try embedded(trace).strings
        #expect(strings.contains(Self.trap))
        #expect(strings.contains("script>/<!--.swift:3"))
      }
    }

    @Test func page_loadsNothing() throws {
      let trace = tracing { $0 }
      let page = String(decoding: try trace.timelinePage(), as: UTF8.self)
      for mark in ["http:", "https:", " src=", " href=", "url(", "@import", "fetch("] {
        #expect(!page.contains(mark), "\(mark)")
      }
      #expect(page.contains("default-src 'none'"))
      #expect(page.components(separatedBy: "</script>").count == 3)
    }

    @Test func chains_standInOneLine_withBranchesAndInnerChainsIndented() throws {
      try tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let first = promise.map(on: .immediate) { $0 }
          .then(on: .immediate) { Promise.value($0).map(on: .immediate) { $0 } }
        let branches = [first.tap(on: .immediate) { _ in }, first.map(on: .immediate) { $0 }]
        let all = Promise.all(branches)
        let end = all.done(on: .immediate) { _ in }
        resolver.fulfill(1)
        #if os(Linux)
          #expect(
            outline(try embedded(trace)) == [
              "all", " promise", " map", " then", "  map", "  tap", "  map", "done",
            ])
        #endif
        let rows = try embedded(trace).rows
        #expect(rows.map(\.d) == [0, 1, 1, 1, 2, 2, 2, 0])
        #expect(rows[0].z == 8 && rows[1].z == 7 && rows[4].z == 5)
        #expect(rows.map(\.h) == [0, 1, 1, 1, 4, 5, 6, 0])
        #expect(rows[0].i == [5, 6])
        #expect(rows[3].a == 4)
        withExtendedLifetime(end) {}
      }
    }

    #if os(Linux)
      // In a process of its own, because other tests register task-local keys for all handlers.
      @Test func loopInsideACombinator_doesNotNest() async throws {
        await #expect(processExitsWith: .success) {
          try await tracing { trace in
            let all = Promise.all(0..<20, concurrently: 2) { number in
              // Without timers, because other tests count them.
              Promise.value(number).map(on: .global) { $0 }.map(on: .global) { $0 }
            }
            let values = try await all.value
            #expect(values.count == 20)
            let rows = try ExportTests().embedded(trace).rows
            #expect(rows.count >= 40)
            #expect(rows.map(\.d).max() ?? 0 <= 2)
            #expect(rows.filter { $0.l == nil }.count >= 40, "those of the user's code")
            #expect(rows.contains { $0.l == 1 })
          }
        }
      }
    #endif

    @Test func everyPromise_hasARow_andTellsItsState() throws {
      try tracing { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let waiting = promise.map(on: .immediate) { $0 }
        let failed = Promise.value(1).map(on: .immediate) { _ -> Int in throw Oops() }
        let passed = failed.map(on: .immediate) { $0 }
        passed.catch(on: .immediate) { _ in }
        let cancelled = Promise<Int>.withResolvers()
        cancelled.promise.cancel()
        let timeline = try embedded(trace)
        #expect(timeline.rows.count == trace.count)
        #expect(
          timeline.rows.map { timeline.strings[$0.u] } == [
            "pending", "pending", "rejected", "rejected", "fulfilled", "cancelled",
          ])
        let reason = try #require(timeline.rows[0].w)
        #expect(timeline.strings[reason].hasPrefix("its resolver or operation has not settled it"))
        #expect(timeline.rows[3].v == 2)
        resolver.fulfill(1)
        withExtendedLifetime(waiting) {}
      }
    }

    @Test func longChain_isLaidOutWithoutDeepStacks() throws {
      try tracing(capturesPlaces: false) { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        var chain = promise
        for _ in 0..<20_000 { chain = chain.map(on: .immediate) { $0 } }
        resolver.fulfill(1)
        let rows = try embedded(trace).rows
        #expect(rows.count == 20_001 && rows[0].z == 20_001)
        #expect(rows.allSatisfy { $0.d == 0 && $0.h == 0 })
        withExtendedLifetime(chain) {}
      }
    }

    @Test func whatWasForgotten_isTold() throws {
      try tracing(limit: 2, capturesPlaces: false) { trace in
        let pairs = (0..<5).map { _ in Promise<Int>.withResolvers() }
        let sentence = try #require(trace.snapshot().log.notice)
        #expect(try embedded(trace).notices == [sentence])
        for pair in pairs { pair.resolver.fulfill(1) }
      }
    }

    @Test func files_areWrittenWhole_orNotAtAll() throws {
      let folder = FileManager.default.temporaryDirectory.appending(
        component: "trace-\(UUID().uuidString)", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let trace = tracing { $0 }
      try trace.write(to: folder.appending(component: "a.html"))
      let page = try String(contentsOf: folder.appending(component: "a.html"), encoding: .utf8)
      #expect(page.hasPrefix("<!doctype html>"))
      #expect(throws: CocoaError.self) {
        try trace.write(to: folder.appending(components: "none", "a.html"))
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.html"])
    }
  }
}
