import Foundation
import Pledge
import PledgeFoundation
import PledgeTesting
import Testing

@testable import fetch

/// Tests each policy separately, in a simulated environment.
@Suite struct EngineTests {
  let world = World(seed: 1)
  let disk = SimulatedDisk()
  let bytes = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

  func address(_ text: String) throws -> URL { try #require(URL(string: text)) }

  /// Options for four connections to each file, however small it is.
  let fourConnections = Options(split: 4, minimumSegment: 1000)

  func outcomes(
    of files: [Download], options: Options = Options(), from network: SimulatedNetwork,
    report: @escaping @Sendable (Event) -> Void = { _ in }
  ) throws -> [Result<Int, any Error>] {
    let downloader = Downloader(
      transport: network, storage: disk, options: options, disk: .immediate,
      time: world.time, report: report)
    let work = downloader.downloadAll(files)
    world.run { !work.isPending }
    return try #require(try work.currentResult?.get())
  }

  func outcome(
    of url: String = "http://a/x", checksum: Bool = true, options: Options = Options(),
    mirrors: [String] = [], from network: SimulatedNetwork,
    report: @escaping @Sendable (Event) -> Void = { _ in }
  ) throws -> Result<Int, any Error> {
    let file = Download(
      name: "x", mirrors: try ([url] + mirrors).map(address),
      checksum: checksum ? Checksum(of: bytes) : nil)
    return try outcomes(of: [file], options: options, from: network, report: report)[0]
  }

  func error(of outcome: Result<Int, any Error>) -> (any Error)? {
    guard case .failure(let error) = outcome else { return nil }
    return (error as? GivenUp)?.errors.last ?? error
  }

  func network(_ answer: @escaping (Asked) throws -> Reply) -> SimulatedNetwork {
    SimulatedNetwork(world, answer)
  }

  /// Returns the requested part, with the header fields of a correct server.
  func part(_ asked: Asked, of content: Data? = nil, tag: String? = "\"1\"") -> Reply {
    asked.reply(with: content ?? bytes, tag: tag)
  }

  private enum NextAnswer: CaseIterable {
    case theRest, anotherVersion, withoutTheEntityTag, withAnotherSize, anotherRange, fewerBytes
    case moreBytes, noValidatorEver

    /// The ranges that are requested after the whole file.
    var ranges: [String?] {
      switch self {
      case .theRest, .anotherVersion: ["bytes=12000-19999"]
      case .noValidatorEver: [nil]
      default: ["bytes=12000-19999", nil]
      }
    }
  }

  /// The first response breaks after 12,000 bytes, and the next one continues it, or contradicts it
  /// or itself.
  @Test(arguments: NextAnswer.allCases)
  private func connectionThatBreaks_isContinued_orTheFileIsRequestedAgain(next: NextAnswer) throws {
    var isFirst = true
    let network = network { asked in
      var reply = part(asked, tag: isFirst || next != .anotherVersion ? "\"1\"" : "\"2\"")
      if next == .noValidatorEver { reply.headers["etag"] = nil }
      if isFirst { reply.stop = 12_000 }
      isFirst = false
      guard asked.headers["Range"] != nil else { return reply }
      #expect(asked.headers["If-Range"] == "\"1\"")
      switch next {
      case .theRest, .anotherVersion, .noValidatorEver: break
      case .withoutTheEntityTag:
        reply.headers["etag"] = nil
        reply.body = Data(bytes.reversed().suffix(reply.body.count))
      case .withAnotherSize: reply = Reply(status: 416, headers: ["content-range": "bytes */12000"])
      case .anotherRange: reply.headers["content-range"] = "bytes 0-9/20000"
      case .fewerBytes:
        reply.headers["content-length"] = "4000"
        reply.body = bytes.subdata(in: 8000..<12_000)
      case .moreBytes:
        // A body of unknown length.
        reply.headers["content-length"] = "unknown"
        reply.headers["content-range"] = "bytes 12000-12999/20000"
        reply.body = bytes.subdata(in: 8000..<16_000)
      }
      return reply
    }
    _ = try outcome(checksum: false, from: network)
    #expect(disk.files["x"] == bytes)
    #expect(network.asked.map { $0.headers["Range"] } == [nil] + next.ranges)
  }

  /// A server that always answers in the same way, and how the download fails.
  private struct Failing: CustomTestStringConvertible {
    let testDescription: String
    var requests = 1
    var pieceSize = 1000
    let error: @Sendable (any Error) -> Bool
    let reply: @Sendable (_ request: Int) -> Reply

    static let all: [Failing] =
      [(404, 1), (401, 1), (410, 1), (503, 7), (429, 7), (500, 7)].map { status, requests in
        Failing(
          testDescription: "status \(status)", requests: requests,
          error: { ($0 as? HTTPStatusError)?.status == status },
          reply: { _ in Reply(status: status) })
      }
      + [nil, "ftp://a/x", "file:///etc/passwd", "mailto:x", "/caf\u{FFFD}"].map { location in
        Failing(
          testDescription: "redirection to \(location ?? "nowhere")", error: { $0 is BadAnswer },
          reply: { _ in Reply(status: 302, headers: location.map { ["location": $0] } ?? [:]) })
      } + [
        Failing(
          testDescription: "redirections in a circle", requests: 21, error: { $0 is BadAnswer },
          reply: { _ in Reply(status: 301, headers: ["location": "/x"]) }),
        Failing(
          testDescription: "a part that wasn't requested", error: { $0 is BadAnswer },
          reply: { _ in
            Reply(
              status: 206, headers: ["content-range": "bytes 5000-19999/20000"],
              body: Data(count: 15_000))
          }),
        Failing(
          testDescription: "no validator, and connections that break", requests: 7,
          error: { $0 as? fetch.Copy.Failure == .notResumable },
          reply: { _ in Reply(body: Data(count: 20_000), stop: 12_000) }),
        // Progress that is lost again is no progress.
        Failing(
          testDescription: "no ranges, and connections that break", requests: 7, pieceSize: 50_000,
          error: { $0 is ConnectionFailure },
          reply: { request in
            let stop = request.isMultiple(of: 2) ? 100_000 : 300_000
            return Reply(headers: ["etag": "\"1\""], body: Data(count: 1_000_000), stop: stop)
          }),
      ]
  }

  @Test(arguments: Failing.all)
  private func serverThatFails_isAskedAgainOnlyIfThatMayHelp(server: Failing) throws {
    var count = 0
    let network = SimulatedNetwork(world, pieceSize: server.pieceSize) { _ in
      count += 1
      return count > 50 ? Reply(status: 418) : server.reply(count)
    }
    let error = try #require(error(of: try outcome(checksum: false, from: network)))
    #expect(server.error(error), "\(error)")
    #expect(network.asked.count == server.requests)
    #expect(disk.files.isEmpty && disk.partialNames.isEmpty)
  }

  /// The first segment breaks before its first byte, the others are complete, and then the file is
  /// replaced.
  @Test(arguments: ["\"2\"", nil])
  func wholeFileOfAnotherVersion_isNotCombinedWithSegments(tag: String?) throws {
    let other = Data(bytes.reversed())
    let network = network { asked in
      var reply = part(asked)
      if asked.headers["Range"] == nil { (reply.stop, reply.pause) = (0, .seconds(1)) }
      if self.world.now >= .seconds(1) {
        reply = Reply(headers: tag.map { ["etag": $0] } ?? [:], body: other)
      }
      return reply
    }
    _ = try outcome(checksum: false, options: fourConnections, from: network)
    #expect(disk.files["x"] == other)
    #expect(network.asked.count == 6, "four segments, one of them again, and the whole file")
  }

  /// A file can change twice within one second.
  @Test(
    arguments: [
      ("Mon, 23 Nov 2026 08:00:00 GMT", "W/\"1\"", "W/\"1\"", false),
      ("Mon, 23 Nov 2026 08:00:01 GMT", "W/\"1\"", "W/\"2\"", true),
      ("Mon, 23 Nov 2026 08:00:00 GMT", nil, nil, false),
    ] as [(String, String?, String?, Bool)])
  func weakValidator_doesNotCombineVersions(
    date: String, old: String?, new: String?, requestsRange: Bool
  ) throws {
    let other = Data(bytes.reversed())
    let modified = "Mon, 23 Nov 2026 08:00:00 GMT"
    let network = network { asked in
      let isFirst = self.world.now < .milliseconds(1)
      var reply = Reply(headers: ["last-modified": modified, "date": date], body: self.bytes)
      reply.headers["etag"] = isFirst ? old : new
      if isFirst {
        reply.stop = 12_000
      } else if asked.headers["If-Range"] == modified {
        reply.status = 206
        reply.headers["content-range"] = "bytes 12000-19999/20000"
        reply.body = Data(other[12_000...])
      } else {
        reply.body = other
      }
      return reply
    }
    _ = try outcome(checksum: false, from: network)
    #expect(disk.files["x"] == other)
    #expect(network.asked.contains { $0.headers["Range"] != nil } == requestsRange)
  }

  @Test func segmentsThatAreSentByteByByte_areGivenUp() throws {
    var options = fourConnections
    options.policy = .fixed(attempts: 2)
    var count = 0
    let network = network { asked in
      count += 1
      if count > 100 { return Reply(status: 404) }
      var reply = part(asked)
      reply.stop = 1
      return reply
    }
    let outcome = try outcome(checksum: false, options: options, from: network)
    #expect(error(of: outcome) is ConnectionFailure)
    #expect(network.asked.count < 20)
  }

  @Test func mirrorsThatAnswerAtOnce_writeOneOfTheirFiles() throws {
    let part = try disk.open("x")
    let copy = Copy(Download(name: "x", mirrors: []), part)
    let claim = try #require(copy.claims.first)
    let attempt = copy.beginAttempt()
    let (long, short) = (try address("http://a/x"), try address("http://b/x"))
    func head(_ url: URL, _ length: Int) -> AnswerHead {
      AnswerHead(url: url, status: 200, headers: ["content-length": "\(length)"])
    }
    let first = try #require(
      try copy.accept(head(long, 100), from: long, for: claim, attempt: attempt))
    #expect(throws: CancellationError.self) {
      try copy.accept(head(short, 50), from: short, for: claim, attempt: attempt)
    }
    try Data(count: 100).withUnsafeBytes { try copy.write($0, first) }
    try copy.finish(first)
    #expect(copy.received == 100 && copy.soleMirror == long)
  }

  @Test func connectionThatWasGivenUp_writesNoMore() throws {
    let part = try disk.open("x")
    let copy = Copy(Download(name: "x", mirrors: [], checksum: Checksum(of: bytes)), part)
    let claim = try #require(copy.claims.first)
    let url = try address("http://a/x")
    let whole = AnswerHead(url: url, status: 200, headers: ["content-length": "20000"])
    let rest = AnswerHead(
      url: url, status: 206, headers: ["content-range": "bytes 5000-19999/20000"])
    let old = try #require(
      try copy.accept(whole, from: url, for: claim, attempt: copy.beginAttempt()))
    try bytes[..<5000].withUnsafeBytes { try copy.write($0, old) }
    copy.end(old)
    let late = Data(bytes[5000..<6000])
    #expect(throws: CancellationError.self) { try late.withUnsafeBytes { try copy.write($0, old) } }
    let new = try #require(
      try copy.accept(rest, from: url, for: claim, attempt: copy.beginAttempt()))
    #expect(throws: CancellationError.self) { try late.withUnsafeBytes { try copy.write($0, old) } }
    try bytes[5000...].withUnsafeBytes { try copy.write($0, new) }
    try copy.finish(new)
    try copy.verify()
  }

  @Test(arguments: [(1, "ab", "a"), (3, "abc", "a"), (3, "abc", "b"), (3, "abc", "c")])
  func lyingMirror_isFoundWithTwoDownloads(split: Int, hosts: String, liar: String) throws {
    let options = Options(split: split, minimumSegment: 1000)
    let network = network { asked in
      var reply = part(asked)
      if asked.url.host() == liar { reply.body[reply.body.count / 2] ^= 1 }
      return reply
    }
    _ = try outcome(
      options: options, mirrors: hosts.dropFirst().map { "http://\($0)/x" }, from: network)
    #expect(disk.files["x"] == bytes)
    #expect(network.asked.last?.url.host() != liar)
    let wholes = network.asked.count { $0.headers["Range"] == nil }
    #expect(wholes <= 3, "divided, from the liar alone, and from another one")
  }

  @Test func wrongChecksumInTheList_isFoundAfterTwoDownloads() throws {
    let other = Data(bytes.reversed())
    let network = network { _ in Reply(headers: ["etag": "\"1\""], body: other) }
    let outcome = try outcome(from: network)
    #expect(error(of: outcome) is ChecksumMismatch)
    #expect(network.asked.count == 2)
    #expect(disk.files.isEmpty && disk.partialNames.isEmpty)
  }

  @Test func contentRange_isParsed() {
    #expect(ContentRange("bytes 5-9/20")?.range == 5..<10)
    #expect(ContentRange("bytes 5-9/*")?.size == nil)
    #expect(ContentRange("bytes */20")?.size == 20)
    for text in ["", "bytes 9-5/20", "bytes 5-25/20", "items 5-9/20", "bytes 5-9", "bytes -9/20"] {
      #expect(ContentRange(text) == nil, "\(text)")
    }
  }

  @Test(
    arguments: [
      ("W/\"1\"", nil, "Mon, 23 Nov 2026 08:00:00 GMT", nil),
      ("\"1\"", "Mon, 23 Nov 2026 08:00:00 GMT", nil, "tag"),
      (nil, "Mon, 23 Nov 2026 08:00:00 GMT", nil, nil),
      (nil, "Mon, 23 Nov 2026 08:00:00 GMT", "Mon, 23 Nov 2026 08:00:00 GMT", nil),
      (nil, "Mon, 23 Nov 2026 08:00:00 GMT", "Mon, 23 Nov 2026 07:59:59 GMT", nil),
      (nil, "yesterday", "today", nil),
      (nil, "Mon, 30 Nov 2026 23:59:59 GMT", "Tue, 01 Dec 2026 00:00:00 GMT", "date"),
      ("W/\"1\"", "Fri, 31 Dec 2027 08:00:00 GMT", "Sat, 01 Jan 2028 07:00:00 GMT", "date"),
    ] as [(String?, String?, String?, String?)])
  func ifRange_containsOnlyAStrongValidator(
    tag: String?, modified: String?, date: String?, ifRange: String?
  ) {
    let validator = Validator(entityTag: tag, lastModified: modified, date: date)
    #expect(validator?.ifRange == (ifRange == "date" ? modified : ifRange == "tag" ? tag : nil))
  }
}
