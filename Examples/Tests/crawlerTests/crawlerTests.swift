import Foundation
import Pledge
import PledgeFoundation
import PledgeTesting
import Testing

@testable import crawler

@MainActor
@Suite(.serialized) struct CrawlerTests {
  private let clock = TestClock()
  private let requests = Recorder<String>()

  /// Crawls pages, each of which takes a second; returns the end of each visit.
  private func crawl(
    _ pages: [String: String], busy: String? = nil, within limit: Duration = .seconds(60)
  ) async throws -> [String: String] {
    let crawler = Crawler(clock: clock) { [clock, requests] url in
      requests.record("\(url)")
      let isFirst = requests.events.filter { $0 == "\(url)" }.count == 1
      return Promise.after(.seconds(1), clock: clock).map { _ in
        if isFirst, url.absoluteString == busy {
          throw HTTPStatusError(status: 429, url: url, headers: ["Retry-After": "7"])
        }
        guard let page = pages[url.absoluteString] else {
          throw HTTPStatusError(status: 404, url: url)
        }
        return page
      }
    }
    let start = try #require(URL(string: "http://a/"))
    let visits = crawler.visits(from: start, within: limit)
    let ends = Promise { () -> [String: String] in
      var ends: [String: String] = [:]
      for await visit in visits {
        ends["\(visit.url)"] =
          switch visit.result {
          case .success(let count): "\(count) links"
          case .failure(let error as HTTPStatusError): "status \(error.status)"
          case .failure(let error): "\(type(of: error))"
          }
      }
      return ends
    }
    await clock.run(until: ends)
    return try await ends.value
  }

  @Test func eachPage_isVisitedOnce_andAMissingOneFails() async throws {
    let ends = try await crawl([
      "http://a/": #"<a href="/1"> <a href="http://b/">"#, "http://a/1": #"<a href="/">"#,
      "http://b/": #"<a href="http://a/1"> <a href="/lost">"#,
    ])
    #expect(
      ends == [
        "http://a/": "2 links", "http://a/1": "1 links", "http://b/": "2 links",
        "http://b/lost": "status 404",
      ])
    #expect(requests.events.count == 4)
  }

  @Test func eachHost_getsTwoRequestsAtATime() async throws {
    let links = (1...4).map { #"<a href="/\#($0)"> <a href="http://b/\#($0)">"# }.joined()
    var pages = ["http://a/": links]
    for number in 1...4 {
      pages["http://a/\(number)"] = ""
      pages["http://b/\(number)"] = ""
    }
    #expect(try await crawl(pages).count == 9)
    // One second for the first page, and two for four pages of each host.
    #expect(clock.now.offset == .seconds(3))
  }

  @Test func busyHost_isAskedAgainWhenItRequestsIt() async throws {
    let ends = try await crawl(["http://a/": ""], busy: "http://a/")
    #expect(ends == ["http://a/": "0 links"])
    #expect(clock.now.offset == .seconds(9))
  }

  @Test func stop_endsAllVisits() async throws {
    let crawler = Crawler(clock: clock) { _ in .never }
    let start = try #require(URL(string: "http://a/"))
    let visits = crawler.visits(from: start, within: .seconds(60))
    crawler.stop()
    var errors: [any Error] = []
    for await visit in visits {
      if case .failure(let error) = visit.result { errors.append(error) }
    }
    #expect(errors.count == 1)
    #expect(errors.first is CancellationError)
    await clock.noSleepers()
  }

  @Test func leavingTheLoop_cancelsTheRequests() async throws {
    let crawler = Crawler(clock: clock) { [clock] url in
      url.path == "/"
        ? .value(#"<a href="/1">"#) : Promise.after(.seconds(9), clock: clock).map { "" }
    }
    let start = try #require(URL(string: "http://a/"))
    for await visit in crawler.visits(from: start, within: .seconds(60)) {
      #expect(visit.url == start)
      break
    }
    await clock.noSleepers()
  }

  #if os(Linux)
    /// The program, which is in the same folder as the tests.
    @Test func program_whenItIsInterrupted_endsWithStatus130_andReportsWhatIsMissing() async throws
    {
      let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "crawler")
      let (process, pipe) = (Process(), Pipe())
      process.executableURL = program
      process.standardOutput = pipe
      try process.run()
      let output = Promise(on: .global) { () -> String in
        let output = pipe.fileHandleForReading
        // The first visit has ended, and the others haven't.
        let start = output.availableData
        process.interrupt()
        let rest = try output.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: start + rest, as: UTF8.self)
      }
      #expect(try await expectFulfillment(of: output).contains("CancellationError"))
      #expect(process.terminationStatus == 130)
    }
  #endif

  @Test func deadline_endsAllVisits_andReportsEachAddress() async throws {
    let links = (1...4).map { #"<a href="/\#($0)">"# }.joined()
    let ends = try await crawl(
      ["http://a/": links, "http://a/1": "", "http://a/2": ""], within: .seconds(2.5))
    #expect(
      ends == [
        "http://a/": "4 links", "http://a/1": "0 links", "http://a/2": "0 links",
        "http://a/3": "CancellationError", "http://a/4": "CancellationError",
      ])
  }
}
