import Dispatch
import Foundation
@_spi(DropIns) import Pledge
import PledgeTesting
import Testing

@testable import PledgeDiagnostics

/// The data of a page; see `Timeline` for the names.
private struct Page: Decodable {
  struct Row: Decodable {
    let o, d, h: Int
    let z, l, a, w, v: Int?
    let i: [Int]?
    let u: String
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

    private func events(_ trace: Trace) throws -> [[String: Any]] {
      let file = try JSONSerialization.jsonObject(with: trace.data(as: .json))
      return try #require((file as? [String: Any])?["traceEvents"] as? [[String: Any]])
    }

    /// Returns the page's embedded data, up to where a browser sees its end.
    private func embedded(_ trace: Trace) throws -> Page {
      let page = String(decoding: try trace.data(as: .html), as: UTF8.self)
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

    // MARK: Trace events

    @Test func handlers_areSlicesOnTheirThread_withArrowsFromSettlements() async throws {
      let clock = TestClock()
      try await tracing(clock: clock) { trace in
        let (promise, resolver) = Promise<Int>.withResolvers()
        let executor = ManualExecutor()
        let mapped = promise.map(on: executor) { $0 + 1 }
        await clock.advance(by: .milliseconds(5))
        DispatchQueue(label: "other").sync { _ = resolver.fulfill(1) }
        await clock.advance(by: .milliseconds(2))
        executor.runAll()
        let events = try events(trace)

        let slice = try #require(events.first { $0["cat"] as? String == "handler" })
        #expect(slice["ph"] as? String == "X" && slice["ts"] as? Double == 7000)
        let facts = try #require(slice["args"] as? [String: String])
        #expect(facts["promise"] == "#2" && facts["queued"] == "2 ms")
        #expect(facts["executor"] == "ManualExecutor")
        #if os(Linux)
          #expect(slice["name"] as? String == "map")
          #expect(facts["place"]?.hasPrefix("PledgeDiagnosticsTests/ExportTests.swift:") == true)
        #endif

        let start = try #require(events.first { $0["ph"] as? String == "s" })
        let end = try #require(events.first { $0["ph"] as? String == "f" })
        #expect(start["id"] as? Int == end["id"] as? Int && end["bp"] as? String == "e")
        #expect(start["ts"] as? Double == 5000 && end["ts"] as? Double == 7000)
        #expect(end["tid"] as? Int == slice["tid"] as? Int)
        // An arrow requires a slice at its start.
        let settlement = try #require(events.first { $0["cat"] as? String == "settlement" })
        #expect(settlement["name"] as? String == "fulfill #1")
        #expect(settlement["ts"] as? Double == 5000)
        #expect(settlement["tid"] as? Int == start["tid"] as? Int)

        let threads = events.filter { $0["name"] as? String == "thread_name" }
        let tracks = Set(events.compactMap { $0["tid"] as? Int })
        #expect(Set(threads.compactMap { $0["tid"] as? Int }) == tracks)
        withExtendedLifetime(mapped) {}
      }
    }

    @Test func settlementSlices_endBeforeTheNextSliceOfTheirThread() throws {
      try tracing(capturesPlaces: false, clock: ContinuousClock()) { trace in
        for _ in 0..<1000 {
          let (promise, resolver) = Promise<Int>.withResolvers()
          let mapped = promise.map(on: .immediate) { $0 }
          resolver.fulfill(1)
          withExtendedLifetime(mapped) {}
        }
        let slices = try events(trace).filter { $0["ph"] as? String == "X" }
          .compactMap { event -> (start: Double, end: Double)? in
            guard let start = event["ts"] as? Double, let length = event["dur"] as? Double else {
              return nil
            }
            return (start, start + length)
          }
          .sorted { $0.start < $1.start }
        #expect(slices.count == 2000)
        for (first, second) in zip(slices, slices.dropFirst()) {
          // Times are written with nanosecond precision.
          #expect(first.end <= second.start + 0.0011)
        }
      }
    }

    @Test func handlerThatStillRuns_isASliceUpToNow_andAWaitHasOne() async throws {
      let clock = TestClock()
      try await tracing(capturesPlaces: false, clock: clock) { trace in
        let started = Promise<Void>.withResolvers()
        let (promise, resolver) = Promise<Int>.withResolvers()
        let running = Promise.value(1).map(on: DispatchQueue(label: "io")) { _ in
          started.resolver.fulfill()
          return try promise.wait()
        }
        try await waitUntil { trace.pendingTree().description.contains("blocks thread ") }
        await clock.advance(by: .seconds(1))
        let slices = try events(trace).filter { $0["ph"] as? String == "X" }
        let handler = try #require(slices.first { $0["cat"] as? String == "handler" })
        #expect(handler["dur"] as? Double == 1_000_000)
        #expect((handler["args"] as? [String: String])?["end"] == "still running")
        let wait = try #require(slices.first { $0["cat"] as? String == "wait" })
        #expect(
          wait["name"] as? String == "wait()" && wait["tid"] as? Int == handler["tid"] as? Int)
        resolver.fulfill(1)
        #expect(try await running.value == 1)
      }
    }

    // MARK: The page

    @Test func textThatLooksLikeMarkup_staysText() throws {
      try tracing(capturesPlaces: false) { trace in
        let promise = Promise<Int>.rejected(Trap(), fileID: "</script>/<!--.swift", line: 3)
        promise.ignoreErrors()
        let strings = try embedded(trace).strings
        #expect(strings.contains(Self.trap))
        #expect(strings.contains("script>/<!--.swift:3"))
        let facts = try events(trace).compactMap { $0["args"] as? [String: String] }
        #expect(facts.contains { $0["error"] == Self.trap })
      }
    }

    @Test func page_loadsNothing() throws {
      let trace = tracing { $0 }
      let page = String(decoding: try trace.data(as: .html), as: UTF8.self)
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
          timeline.rows.map(\.u) == [
            "pending", "pending", "rejected", "rejected", "fulfilled", "cancelled",
          ])
        let reason = try #require(timeline.rows[0].w)
        #expect(timeline.strings[reason].hasPrefix("its resolver has not settled it"))
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
        let sentence = try #require(trace.forgotten.sentence)
        #expect(try embedded(trace).notices == [sentence])
        let file = try JSONSerialization.jsonObject(with: trace.data(as: .json))
        let facts = (file as? [String: Any])?["otherData"] as? [String: String]
        #expect(facts?["forgotten"] == sentence && facts?["recorded"] == "2")
        for pair in pairs { pair.resolver.fulfill(1) }
      }
    }

    // MARK: Files

    @Test func formats_areToldByTheExtension() throws {
      #expect(try Trace.Format(fileName: "a.json") == .json)
      #expect(try Trace.Format(fileName: "/tmp/a.b.HTML") == .html)
      for name in ["a", "a.txt", "json", "a.json.gz", ""] {
        let error = try #require(
          #expect(throws: UnknownTraceFormatError.self) { try Trace.Format(fileName: name) })
        #expect(error.description.contains("must end in .json or .html"))
      }
    }

    @Test func files_areWrittenWhole_orNotAtAll() throws {
      let folder = FileManager.default.temporaryDirectory.appending(
        component: "trace-\(UUID().uuidString)", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let trace = tracing { $0 }
      try trace.write(to: folder.appending(component: "a.json"))
      try trace.write(to: folder.appending(component: "a.html"))
      let page = try String(contentsOf: folder.appending(component: "a.html"), encoding: .utf8)
      #expect(page.hasPrefix("<!doctype html>"))
      _ = try JSONSerialization.jsonObject(
        with: Data(contentsOf: folder.appending(component: "a.json")))

      #expect(throws: UnknownTraceFormatError.self) {
        try trace.write(to: folder.appending(component: "a.csv"))
      }
      #expect(throws: CocoaError.self) {
        try trace.write(to: folder.appending(components: "none", "a.json"))
      }
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
          == ["a.html", "a.json"])
    }
  }
}
