import FetchSupport
import Foundation
import Pledge
import PledgeFoundation
import PledgeTesting
import Testing

@testable import FetchEngine

/// Tests each policy separately, in a simulated environment.
@Suite struct EngineTests {
  private let world = World(seed: 1)
  private let disk = SimulatedDisk()
  private let bytes = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

  private func address(_ text: String) throws -> URL { try #require(URL(string: text)) }

  /// Options for four connections to each file, however small it is.
  private var fourConnections: Options {
    var options = Options()
    options.split = 4
    options.minimumSegment = 1000
    return options
  }

  /// Downloads files, and returns the outcomes.
  private func outcomes(
    of files: [Download], options: Options = Options(), time: Time? = nil,
    from network: SimulatedNetwork, report: @escaping @Sendable (Event) -> Void = { _ in }
  ) throws -> [Outcome] {
    let downloader = Downloader(
      transport: network, storage: disk, options: options, disk: .immediate,
      time: time ?? world.time, report: report)
    let work = downloader.downloadAll(files)
    world.run { !work.isPending }
    return try #require(try work.currentResult?.get())
  }

  /// Downloads `x` from one server, and returns the outcome.
  private func outcome(
    of url: String = "http://a/x", checksum: Bool = true, options: Options = Options(),
    mirrors: [String] = [], from network: SimulatedNetwork,
    report: @escaping @Sendable (Event) -> Void = { _ in }
  ) throws -> Outcome {
    let file = Download(
      name: "x", mirrors: try ([url] + mirrors).map(address),
      checksum: checksum ? Checksum(of: bytes) : nil)
    return try outcomes(of: [file], options: options, from: network, report: report)[0]
  }

  private func error(of outcome: Outcome) -> (any Error)? {
    guard case .failed(_, let error, _) = outcome else { return nil }
    return (error as? GivenUp)?.errors.last ?? error
  }

  private func network(_ answer: @escaping (SimulatedNetwork.Asked) throws -> Reply)
    -> SimulatedNetwork
  {
    SimulatedNetwork(world, answer)
  }

  /// Returns the requested part, with the header fields of a correct server.
  private func part(
    _ asked: SimulatedNetwork.Asked, of content: Data? = nil, tag: String? = "\"1\""
  ) -> Reply {
    let content = content ?? bytes
    var reply = Reply(headers: ["accept-ranges": "bytes"], body: content)
    reply.headers["etag"] = tag
    if let match = asked.headers["Range"]?.wholeMatch(of: /bytes=(\d+)-(\d*)/),
      let first = Int(match.1), asked.headers["If-Range"] ?? tag == tag
    {
      let last = Int(match.2) ?? content.count - 1
      reply.status = 206
      reply.headers["content-range"] = "bytes \(first)-\(last)/\(content.count)"
      reply.body = content.subdata(in: first..<(last + 1))
    }
    return reply
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
      case .withAnotherSize:
        reply = Reply(status: 416, headers: ["content-range": "bytes */12000"])
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
          error: { $0 is NotResumable },
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
    options.policy = .fixed(attempts: 2, delay: .seconds(1))
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

  // MARK: - Bytes from an earlier run

  @Test(arguments: [true, false])
  func bytesOfAnEarlierRun_thatNothingConfirms_areDiscarded(fromMirrorsThatDiffer: Bool) throws {
    let old = Data(count: 3 << 20)
    let new = Data(repeating: 1, count: old.count)
    let (a, b) = (try address("http://a/x"), try address("http://b/x"))
    var isFirstRun = true
    let network = SimulatedNetwork(world, pieceSize: 1 << 20) { asked in
      let content = isFirstRun ? old : new
      let tag = fromMirrorsThatDiffer ? (asked.url == a ? "\"1\"" : "\"2\"") : nil
      var reply = part(asked, of: content, tag: tag)
      guard isFirstRun else { return reply }
      let first = content.count - reply.body.count
      // One response, or one from each mirror.
      let isLast = !fromMirrorsThatDiffer || asked.url == a || first > 1 << 20
      if first > 0, isLast { throw ConnectionFailure("down") }
      reply.stop = first == 0 ? 1 << 20 : 1 << 19
      return reply
    }
    var options = Options()
    options.policy = .fixed(attempts: 2, delay: .seconds(1))
    for file in [
      Download(
        name: "x", mirrors: fromMirrorsThatDiffer ? [a, b] : [a], checksum: Checksum(of: old)),
      Download(name: "x", mirrors: [a]),
    ] {
      _ = try outcomes(of: [file], options: options, from: network)
      if isFirstRun { #expect(disk.partialNames == ["x"]) }
      isFirstRun = false
    }
    #expect(disk.files["x"] == new)
  }

  @Test func largeFile_comesInSegmentsFromAllMirrors_andOneMayFail() throws {
    let network = network { asked in
      if asked.url.host() == "b" { throw ConnectionFailure("down") }
      return part(asked)
    }
    _ = try outcome(options: fourConnections, mirrors: ["http://b/x", "http://c/x"], from: network)
    #expect(disk.files["x"] == bytes)
    let ranges = Set(network.asked.compactMap { $0.headers["Range"] })
    #expect(ranges.count == 3, "the first segment is the start of the first answer")
    #expect(Set(network.asked.compactMap { $0.url.host() }).isSuperset(of: ["a", "c"]))
  }

  private enum Nuisance: CaseIterable {
    case deadMirror, slowBody, silentConnection, rangesThatAreAnnouncedButIgnored
  }

  @Test(arguments: Nuisance.allCases)
  private func serverThatWorks_isWaitedFor_asLongAsItMayBe(nuisance: Nuisance) throws {
    var options = nuisance == .rangesThatAreAnnouncedButIgnored ? fourConnections : Options()
    options.stall = .seconds(7)
    if nuisance == .slowBody { options.policy.attempts = 1 }
    let network = network { asked in
      var reply = part(asked)
      switch nuisance {
      case .deadMirror: if asked.url.host() == "a" { reply.latency = .seconds(1000) }
      case .slowBody: reply.pause = .seconds(6)
      case .silentConnection:
        if asked.headers["Range"] == nil { (reply.stop, reply.isSilent) = (5000, true) }
      case .rangesThatAreAnnouncedButIgnored:
        reply = Reply(headers: ["etag": "\"1\"", "accept-ranges": "bytes"], body: bytes)
      }
      return reply
    }
    _ = try outcome(
      checksum: nuisance != .rangesThatAreAnnouncedButIgnored, options: options,
      mirrors: nuisance == .deadMirror ? ["http://b/x"] : [], from: network)
    #expect(disk.files["x"] == bytes)
    let time: ClosedRange<Double> =
      switch nuisance {
      case .slowBody: 100...200
      case .silentConnection: 7...8
      case .deadMirror, .rangesThatAreAnnouncedButIgnored: 0...1
      }
    #expect(time.contains(world.now / .seconds(1)), "\(world.now)")
  }

  @Test func filesShareOneTimer_andEachStallsAtItsOwnTime() throws {
    let timers = Recorder<Duration>()
    let time = world.time
    let counting = Time(now: time.now) { delay in
      timers.record(delay)
      return time.after(delay)
    }
    // A file takes 25 s; one connection stalls after 3 of its 20 pieces.
    let network = network { asked in
      var reply = Reply(body: self.bytes, pause: .seconds(1.25))
      if asked.url.path() == "/silent" { (reply.stop, reply.isSilent) = (3000, true) }
      return reply
    }
    var options = Options()
    options.policy = .exponential(attempts: 1, from: .seconds(1))
    let ends = Recorder<Duration>()
    let files = try ["slow", "silent", "slower", "slowest"].map {
      Download(name: $0, mirrors: [try address("http://a/\($0)")])
    }
    let outcomes = try outcomes(of: files, options: options, time: counting, from: network) {
      if case .ended = $0 { ends.record(time.now()) }
    }
    #expect(error(of: outcomes[1]) is Stalled)
    #expect(outcomes.count { if case .saved = $0 { true } else { false } } == 3)
    // The last piece on the stalled connection arrives after 3.755 s.
    let end = try #require(ends.events.max())
    #expect(abs(end / .seconds(1) - 33.755) < 0.01, "\(end)")
    #expect(timers.count <= 3, "\(timers.events)")
  }

  @Test func connectionThatBreaksAgainAndAgain_isNoReasonToGiveUpWhileItGetsOn() throws {
    var options = Options()
    options.policy = .fixed(attempts: 2, delay: .seconds(1))
    let large = Data(count: 1_000_000)
    let network = SimulatedNetwork(world, pieceSize: 70_000) { asked in
      var reply = part(asked, of: large)
      reply.stop = 70_000
      return reply
    }
    _ = try outcome(checksum: false, options: options, from: network)
    #expect(disk.files["x"] == large)
    #expect(network.asked.count > 10)
  }

  @Test func retryAfter_isHonored_andTold() throws {
    let waits = Recorder<Duration>()
    let network = network { asked in
      self.world.now < .seconds(30)
        ? Reply(status: 503, headers: ["retry-after": "30"]) : part(asked)
    }
    _ = try outcome(from: network) { event in
      if case .waiting(_, let delay, _, askedByServer: true) = event { waits.record(delay) }
    }
    #expect(waits.events == [.seconds(30)])
    #expect(disk.files["x"] == bytes)
  }

  @Test func redirections_keepEscapes_andSecretsAreForTheHostThatTheUserNamed() throws {
    var options = Options()
    options.settings.headers = ["Cookie": "c", "X-Mine": "m"]
    let network = network { asked in
      switch asked.url.absoluteString {
      case "http://a/x": Reply(status: 302, headers: ["location": "y%20[1]"])
      case "http://a/y%20%5B1%5D": Reply(status: 307, headers: ["location": "https://a/y"])
      case "https://a/y": Reply(status: 308, headers: ["location": "http://b/z"])
      default: part(asked)
      }
    }
    _ = try outcome(of: "http://me:secret@a/x", options: options, from: network)
    #expect(disk.files["x"] == bytes)
    let sent = network.asked.map(\.headers)
    #expect(sent.map { $0["Cookie"] } == ["c", "c", nil, nil])
    #expect(sent.map { $0["X-Mine"] } == ["m", "m", "m", "m"])
    let basic = "Basic " + Data("me:secret".utf8).base64EncodedString()
    #expect(sent.map { $0["Authorization"] } == [basic, basic, nil, nil])
    #expect(sent.allSatisfy { $0["Accept-Encoding"] == "identity" })
    #expect(network.asked.first?.url.absoluteString == "http://a/x", "not in the address")
  }

  @Test(arguments: [true, false], [2, 1000])
  func tooManyOpenFiles_areWaitedFor(checksum: Bool, failures: Int) throws {
    let count = CallCounter()
    disk.beforeOpen = {
      if count.call() <= failures { throw FileFailure(.open, "x", EMFILE) }
    }
    let waits = Recorder<Duration>()
    let outcome = try outcome(checksum: checksum, from: network { part($0) }) { event in
      if case .waiting(_, let delay, _, _) = event { waits.record(delay) }
    }
    #expect(waits.count == min(failures, Options().policy.attempts - 1))
    #expect((disk.files["x"] == bytes) == (failures == 2))
    #expect((error(of: outcome) as? FileFailure)?.code == (failures == 2 ? nil : EMFILE))
  }

  @Test(arguments: [403, 0, 503], [0, 0.05])
  func connections_thatTheServerRefuses_areNotNeeded(status: Int, delay: Double) throws {
    let open = Recorder<String>()
    let network = network { asked in
      // One connection at a time is served, for as long as it takes.
      let until = open.events.last.flatMap(Double.init) ?? 0
      guard world.now / .seconds(1) >= until else {
        if status == 0 { throw ConnectionFailure("refused") }
        return Reply(status: status)
      }
      var reply = part(asked)
      reply.pause = .seconds(1)
      let pieces = Double((reply.body.count + 999) / 1000)
      let isFirst = asked.headers["Range"] == nil
      open.record("\(world.now / .seconds(1) + (isFirst ? 5 : pieces) + delay)")
      return reply
    }
    var options = fourConnections
    // Without random delays, which nothing seeds: a file of 20 kB makes too little progress to make
    // up for seven short ones.
    options.policy = .exponential(attempts: 7, from: .milliseconds(100), factor: 3)
    let outcome = try outcome(checksum: false, options: options, from: network)
    #expect(error(of: outcome) == nil, "\(outcome)")
    #expect(disk.files["x"] == bytes)
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
    #expect(copy.received == 100 && copy.source == long)
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
    var options = Options()
    options.split = split
    options.minimumSegment = 1000
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

  @Test func slowMirror_isUsed_whenTheFastOneHasGone() throws {
    let large = Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 13) })
    let network = SimulatedNetwork(world) { asked in
      if asked.url.lastPathComponent == "x", asked.url.host() == "a" {
        throw ConnectionFailure("down")
      }
      var reply = part(asked, of: large)
      // 10 MB/s and 10 kB/s.
      reply.pause = asked.url.host() == "a" ? .microseconds(100) : .milliseconds(100)
      return reply
    }
    var options = Options()
    options.concurrency = 1
    let files = try [
      Download(name: "first", mirrors: [address("http://a/first")]),
      Download(name: "x", mirrors: [address("http://a/x"), address("http://b/x")]),
    ]
    _ = try outcomes(of: files, options: options, from: network)
    #expect(disk.files["first"] == large && disk.files["x"] == large)
    #expect(world.now > .seconds(40), "\(world.now)")
  }

  // MARK: - The disk

  @Test(arguments: [1, 2, 19])
  func fullDisk_isReportedAtOnce_andALaterRunCompletes(write: Int) throws {
    let writes = CallCounter()
    disk.beforeWrite = { if writes.call() == write { throw FileFailure(.write, "x", ENOSPC) } }
    let network = network { part($0) }
    let outcome = try outcome(from: network)
    #expect((error(of: outcome) as? FileFailure)?.code == ENOSPC)
    #expect(network.asked.count == 1, "a full disk isn't worth a second attempt")
    #expect(disk.files.isEmpty && disk.partialNames.isEmpty)
    _ = try self.outcome(from: network)
    #expect(disk.files["x"] == bytes)
  }

  /// Downloads `x` from a server that breaks the connection after 2 of 3 MiB.
  private func leavePartialFile(of content: Data, tag: String?, from url: String) throws {
    let network = SimulatedNetwork(world, pieceSize: 1 << 20) { asked in
      if asked.headers["Range"] != nil { throw ConnectionFailure("down", isTransient: false) }
      var reply = Reply(
        headers: [
          "last-modified": "Mon, 23 Nov 2026 08:00:00 GMT", "date": "Mon, 23 Nov 2026 09:00:00 GMT",
        ],
        body: content, stop: 2 << 20)
      reply.headers["etag"] = tag
      return reply
    }
    _ = try outcome(of: url, checksum: false, from: network)
    #expect(disk.partialNames == ["x"])
  }

  @Test(arguments: ["a refused connection", "a missing file", "no byte", "another file"])
  func bytesOfAnEarlierRun_areKeptUntilAGoodResponse(server: String) throws {
    let content = Data((0..<(3 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try leavePartialFile(of: content, tag: "\"1\"", from: "http://a/x")
    let before = disk.partial("x")
    var options = Options()
    options.policy.attempts = 1
    let network = network { _ in
      switch server {
      case "a refused connection": throw ConnectionFailure("refused", isRefusal: true)
      case "a missing file": Reply(status: 404)
      case "no byte": Reply(body: content, stop: 0)
      default: Reply(body: self.bytes)
      }
    }
    // The URL is another one, so nothing that is present can be used.
    _ = try outcome(of: "http://b/y", checksum: false, options: options, from: network)
    #expect(network.asked.allSatisfy { $0.headers["Range"] == nil })
    if server == "another file" {
      #expect(disk.files["x"] == bytes && disk.partialNames.isEmpty)
    } else {
      #expect(disk.partial("x") == before, "\(server)")
      #expect(disk.partialNames == ["x"])
    }
  }

  /// A signed URL has another query in each run.
  @Test(arguments: [
    ("\"1\"", false, true), ("W/\"1\"", false, false), (nil, false, false), (nil, true, true),
  ])
  func earlierRun_isContinuedWithAnotherQuery_ifTheFileIsCertainlyTheSame(
    tag: String?, hasChecksum: Bool, isContinued: Bool
  ) throws {
    let content = Data((0..<(3 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try leavePartialFile(of: content, tag: tag, from: "http://a/x?signature=1")
    let network = SimulatedNetwork(world, pieceSize: 1 << 20) { part($0, of: content, tag: tag) }
    let file = Download(
      name: "x", mirrors: [try address("http://a/x?signature=2")],
      checksum: hasChecksum ? Checksum(of: content) : nil)
    _ = try outcomes(of: [file], from: network)
    #expect(disk.files["x"] == content)
    #expect(network.asked.map { $0.headers["Range"] != nil } == [isContinued])
    if isContinued, !hasChecksum { #expect(network.asked[0].headers["If-Range"] == tag) }
  }

  // MARK: - Servers that refuse connections

  @Test func refusedConnection_isFinal_unlessTheServerHasAnswered() throws {
    let network = network { asked in
      if asked.url.host() == "typo" { throw ConnectionFailure("refused", isRefusal: true) }
      // A server that restarts.
      let isDown = asked.headers["Range"] != nil && self.world.now < .seconds(1)
      if isDown { throw ConnectionFailure("refused", isRefusal: true) }
      var reply = part(asked)
      if asked.headers["Range"] == nil { reply.stop = 12_000 }
      return reply
    }
    let outcome = try outcome(of: "http://typo/x", from: network)
    #expect("\(error(of: outcome) as Any)".contains("refused"))
    #expect(network.asked.count == 1 && world.now < .seconds(1))
    _ = try self.outcome(from: network)
    #expect(disk.files["x"] == bytes)
    #expect(network.asked.count > 3)
  }

  /// For example, because standard output is a pipe whose reader is busy.
  @Test func receiverThatTakesItsTime_isNoStall() {
    let watch = StallWatch(limit: .seconds(5), time: world.time)
    let (promise, resolver) = Promise<Void>.withResolvers()
    let meter = watch.meter()
    let watched = watch.watch(promise, meter)
    meter.receive(10, now: world.time.now) {
      world.schedule(after: .seconds(100)) {}
      world.run { world.now >= .seconds(100) }
    }
    #expect(watched.isPending)
    world.run { !watched.isPending }
    #expect(throws: Stalled.self) { try watched.currentResult?.get() }
    withExtendedLifetime(resolver) {}
  }

  @Test func connectionsPerHost_areLimited_andWaitingForOneIsNoStall() throws {
    var options = Options()
    options.connectionsPerHost = 1
    options.stall = .milliseconds(60)
    options.policy.attempts = 1
    let network = network { asked in
      var reply =
        asked.url.path() == "/old" ? Reply(status: 302, headers: ["location": "/x"]) : part(asked)
      reply.pause = .milliseconds(2)
      return reply
    }
    let files = try ["http://a/x", "http://a/old", "http://a/x", "http://b/x"].enumerated().map {
      Download(name: "\($0)", mirrors: [try address($1)])
    }
    _ = try outcomes(of: files, options: options, from: network)
    #expect(disk.files.values.filter { $0 == bytes }.count == 4)
    // Three files from one host, 40 ms each; the file from the other host arrives at the same time.
    #expect(world.now > .milliseconds(120) && world.now < .milliseconds(160), "\(world.now)")
  }

  @Test func responsesThatHaveArrived_areHandledBeforeTheNextRequests() throws {
    let network = network { [bytes] _ in Reply(body: bytes) }
    let loop = ManualExecutor()
    network.executor = loop
    var options = Options()
    options.concurrency = 2
    let files = try (0..<4).map {
      Download(name: "\($0)", mirrors: [try address("http://a/\($0)")])
    }
    let ended = Recorder<Void>()
    let downloader = Downloader(
      transport: network, storage: disk, options: options, disk: .immediate, time: world.time
    ) {
      if case .ended = $0 { ended.record(()) }
    }
    let work = downloader.downloadAll(files)
    for batch in 1...2 {
      loop.runAll()
      #expect(network.asked.count == 2 * batch)
      world.run { ended.count == 2 * batch }
      #expect(network.asked.count == 2 * batch && ended.count == 2 * batch)
    }
    loop.runAll()
    #expect(try work.currentResult?.get().count == 4)
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
      ("\"1\"", "Mon, 23 Nov 2026 08:00:00 GMT", nil, "\"1\""),
      (nil, "Mon, 23 Nov 2026 08:00:00 GMT", nil, nil),
      (nil, "Mon, 23 Nov 2026 08:00:00 GMT", "Mon, 23 Nov 2026 08:00:00 GMT", nil),
      (nil, "Mon, 23 Nov 2026 08:00:00 GMT", "Mon, 23 Nov 2026 07:59:59 GMT", nil),
      (nil, "yesterday", "today", nil),
      (
        nil, "Mon, 30 Nov 2026 23:59:59 GMT", "Tue, 01 Dec 2026 00:00:00 GMT",
        "Mon, 30 Nov 2026 23:59:59 GMT"
      ),
      (
        "W/\"1\"", "Fri, 31 Dec 2027 08:00:00 GMT", "Sat, 01 Jan 2028 07:00:00 GMT",
        "Fri, 31 Dec 2027 08:00:00 GMT"
      ),
    ] as [(String?, String?, String?, String?)])
  func ifRange_containsOnlyAStrongValidator(
    tag: String?, modified: String?, date: String?, ifRange: String?
  ) {
    let validator = Validator(entityTag: tag, lastModified: modified, date: date)
    #expect(validator?.ifRange == ifRange)
  }
}
