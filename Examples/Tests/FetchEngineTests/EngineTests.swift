import FetchSupport
import Foundation
import Pledge
import PledgeFoundation
import Testing

@testable import FetchEngine

/// One policy after the other, in a world of its own.
@Suite struct EngineTests {
  private let world = World(seed: 1)
  private let disk = SimulatedDisk()
  private let bytes = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

  private func address(_ text: String) throws -> URL { try #require(URL(string: text)) }

  /// Downloads from one server, and returns the outcome.
  private func outcome(
    of url: String = "http://a/x", checksum: Bool = true, options: Options = Options(),
    mirrors: [String] = [], from network: SimulatedNetwork,
    report: @escaping @Sendable (Event) -> Void = { _ in }
  ) throws -> Outcome {
    let downloader = Downloader(
      transport: network, storage: disk, options: options, disk: .immediate, time: world.time,
      report: report)
    let file = Download(
      name: "x", mirrors: try ([url] + mirrors).map(address),
      checksum: checksum ? Checksum(of: bytes) : nil)
    let work = downloader.downloadAll([file])
    world.run { !work.isPending }
    return try #require(try work.currentResult?.get().first)
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

  /// The part that is asked for, with the header fields of a good server.
  private func part(_ asked: SimulatedNetwork.Asked, tag: String = "\"1\"") -> Reply {
    var reply = Reply(headers: ["etag": tag, "accept-ranges": "bytes"], body: bytes)
    if let match = asked.headers["Range"]?.wholeMatch(of: /bytes=(\d+)-(\d*)/),
      let first = Int(match.1), asked.headers["If-Range"] ?? tag == tag
    {
      let last = Int(match.2) ?? bytes.count - 1
      reply.status = 206
      reply.headers["content-range"] = "bytes \(first)-\(last)/\(bytes.count)"
      reply.body = Data(bytes[first...last])
    }
    return reply
  }

  @Test func connectionThatBreaks_isContinuedWhereItStopped() throws {
    let network = network { asked in
      var reply = part(asked)
      if asked.headers["Range"] == nil { reply.stop = 12_000 }
      return reply
    }
    _ = try outcome(checksum: false, from: network)
    #expect(disk.files["x"] == bytes)
    #expect(network.asked.map { $0.headers["Range"] } == [nil, "bytes=12000-19999"])
    #expect(network.asked[1].headers["If-Range"] == "\"1\"")
  }

  @Test func fileThatHasChanged_isFetchedAnew() throws {
    let network = network { asked in
      var reply = part(asked, tag: asked.headers["Range"] == nil ? "\"1\"" : "\"2\"")
      if asked.headers["Range"] == nil { reply.stop = 12_000 }
      return reply
    }
    _ = try outcome(checksum: false, from: network)
    #expect(disk.files["x"] == bytes)
    #expect(network.asked.count == 2)
  }

  @Test func serverWithoutValidator_isNotTrustedToHaveTheSameFile() throws {
    let network = network { asked in
      var reply = part(asked)
      reply.headers["etag"] = nil
      reply.stop = self.world.now < .seconds(1) ? 12_000 : nil
      return reply
    }
    _ = try outcome(checksum: false, from: network)
    #expect(disk.files["x"] == bytes)
    #expect(!network.asked.contains { $0.headers["Range"] != nil })
  }

  @Test func largeFile_comesInSegmentsFromAllMirrors_andOneMayFail() throws {
    var options = Options()
    options.split = 4
    options.minimumSegment = 1000
    let network = network { asked in
      if asked.url.host() == "b" { throw ConnectionFailure("down") }
      return part(asked)
    }
    _ = try outcome(options: options, mirrors: ["http://b/x", "http://c/x"], from: network)
    #expect(disk.files["x"] == bytes)
    let ranges = Set(network.asked.compactMap { $0.headers["Range"] })
    #expect(ranges.count == 3, "the first segment is the start of the first answer")
    #expect(Set(network.asked.compactMap { $0.url.host() }).isSuperset(of: ["a", "c"]))
  }

  @Test func silentConnection_isGivenUpAfterTheTimeout() throws {
    var options = Options()
    options.stall = .seconds(7)
    let network = network { asked in
      var reply = part(asked)
      if asked.headers["Range"] == nil { (reply.stop, reply.isSilent) = (5000, true) }
      return reply
    }
    _ = try outcome(options: options, from: network)
    #expect(disk.files["x"] == bytes)
    #expect(world.now > .seconds(7) && world.now < .seconds(8))
  }

  @Test func slowFile_takesAsLongAsItTakes() throws {
    var options = Options()
    options.stall = .seconds(7)
    options.policy.attempts = 1
    let network = network { asked in
      var reply = part(asked)
      reply.pause = .seconds(6)
      return reply
    }
    _ = try outcome(options: options, from: network)
    #expect(disk.files["x"] == bytes)
    #expect(world.now > .seconds(100))
  }

  @Test func connectionThatBreaksAgainAndAgain_isNoReasonToGiveUpWhileItGetsOn() throws {
    var options = Options()
    options.policy = .fixed(attempts: 2, delay: .seconds(1))
    let size = 1_000_000
    let large = Data(count: size)
    let network = SimulatedNetwork(world, pieceSize: 70_000) { asked in
      let first = asked.headers["Range"]?.firstMatch(of: /\d+/).flatMap { Int($0.0) } ?? 0
      var reply = Reply(
        status: first == 0 ? 200 : 206,
        headers: ["etag": "\"1\"", "content-range": "bytes \(first)-\(size - 1)/\(size)"],
        body: large[first...])
      reply.body = Data(reply.body)
      reply.stop = 70_000
      return reply
    }
    _ = try outcome(checksum: false, options: options, from: network)
    #expect(disk.files["x"] == large)
    #expect(network.asked.count > 10)
  }

  @Test(arguments: [(404, 1), (401, 1), (410, 1), (503, 7), (429, 7), (500, 7)])
  func status_isTriedAgainOnlyIfThatMayHelp(status: Int, requests: Int) throws {
    let network = network { _ in Reply(status: status) }
    let outcome = try outcome(from: network)
    #expect((error(of: outcome) as? HTTPStatusError)?.status == status)
    #expect(network.asked.count == requests)
    #expect(disk.files.isEmpty && disk.partialNames.isEmpty)
  }

  @Test func retryAfter_isHonored_andTold() throws {
    let waits = Recorded<Duration>()
    let network = network { asked in
      self.world.now < .seconds(30)
        ? Reply(status: 503, headers: ["retry-after": "30"]) : part(asked)
    }
    _ = try outcome(from: network) { event in
      if case .waiting(_, let delay, _, askedByServer: true) = event { waits.add(delay) }
    }
    #expect(waits.values == [.seconds(30)])
    #expect(disk.files["x"] == bytes)
  }

  @Test func partThatNobodyAskedFor_isNotTakenForTheWhole() throws {
    var options = Options()
    options.policy.attempts = 2
    let network = network { _ in
      Reply(status: 206, headers: ["content-range": "bytes 5000-19999/20000"], body: bytes)
    }
    let outcome = try outcome(checksum: false, options: options, from: network)
    #expect(error(of: outcome) is BadAnswer)
    #expect(disk.files.isEmpty)
  }

  @Test(arguments: [nil, "ftp://a/x", "file:///etc/passwd", "mailto:x"])
  func redirection_leadsToHTTPOrNowhere(location: String?) throws {
    let network = network { _ in
      Reply(status: 302, headers: location.map { ["location": $0] } ?? [:])
    }
    #expect(error(of: try outcome(from: network)) is BadAnswer)
    #expect(network.asked.count == 1)
  }

  @Test func redirectionsInACircle_end() throws {
    let network = network { _ in Reply(status: 301, headers: ["location": "/x"]) }
    #expect(error(of: try outcome(from: network)) is BadAnswer)
    #expect(network.asked.count == 21)
  }

  @Test func secrets_areForTheHostThatTheUserNamed() throws {
    var options = Options()
    options.settings.headers = ["Cookie": "c", "X-Mine": "m"]
    let network = network { asked in
      switch asked.url.absoluteString {
      case "http://a/x": Reply(status: 302, headers: ["location": "/y"])
      case "http://a/y": Reply(status: 307, headers: ["location": "http://b/z"])
      default: part(asked)
      }
    }
    _ = try outcome(of: "http://me:secret@a/x", options: options, from: network)
    #expect(disk.files["x"] == bytes)
    let sent = network.asked.map(\.headers)
    #expect(sent.map { $0["Cookie"] } == ["c", "c", nil])
    #expect(sent.map { $0["X-Mine"] } == ["m", "m", "m"])
    let basic = "Basic " + Data("me:secret".utf8).base64EncodedString()
    #expect(sent.map { $0["Authorization"] } == [basic, basic, nil])
    #expect(sent.allSatisfy { $0["Accept-Encoding"] == "identity" })
    #expect(network.asked.first?.url.absoluteString == "http://a/x", "not in the address")
  }

  @Test func netrc_tellsThePasswordOfEachHost() throws {
    let netrc = Netrc(
      """
      # two hosts
      machine a login me password one
      machine b
        login you
        password two
      """)
    var options = Options()
    options.settings.credentials = { netrc.credentials(for: $0) }
    let network = network { asked in
      asked.url.host() == "a"
        ? Reply(status: 302, headers: ["location": "http://b/x"]) : part(asked)
    }
    _ = try outcome(options: options, from: network)
    let expected = ["me:one", "you:two"].map { "Basic \(Data($0.utf8).base64EncodedString())" }
    #expect(network.asked.map { $0.headers["Authorization"] } == expected)
    #expect(Netrc("default login d password p").credentials(for: "z")?.user == "d")
    #expect(Netrc("machine a login me").credentials(for: "z") == nil)
  }

  @Test func lyingMirror_isAskedNoMore() throws {
    var options = Options()
    options.concurrency = 1
    let network = network { asked in
      var reply = part(asked)
      if asked.url.host() == "a" { reply.body[100] ^= 1 }
      return reply
    }
    _ = try outcome(options: options, mirrors: ["http://b/x"], from: network)
    #expect(disk.files["x"] == bytes)
    #expect(network.asked.last?.url.host() == "b")
  }

  @Test func deadMirror_costsAHeadStart() throws {
    let network = network { asked in
      var reply = part(asked)
      if asked.url.host() == "a" { reply.latency = .seconds(1000) }
      return reply
    }
    _ = try outcome(mirrors: ["http://b/x"], from: network)
    #expect(disk.files["x"] == bytes)
    #expect(world.now < .seconds(1))
  }

  @Test func contentRange_isParsed() {
    #expect(ContentRange("bytes 5-9/20")?.range == 5..<10)
    #expect(ContentRange("bytes 5-9/*")?.size == nil)
    #expect(ContentRange("bytes */20")?.size == 20)
    for text in ["", "bytes 9-5/20", "bytes 5-25/20", "items 5-9/20", "bytes 5-9", "bytes -9/20"] {
      #expect(ContentRange(text) == nil, "\(text)")
    }
  }

  @Test func weakEntityTags_areNoValidators() {
    #expect(Validator(entityTag: "W/\"1\"", lastModified: nil) == nil)
    #expect(Validator(entityTag: "W/\"1\"", lastModified: "Mon")?.ifRange == "Mon")
    #expect(Validator(entityTag: "\"1\"", lastModified: "Mon")?.ifRange == "\"1\"")
  }
}

/// Values that any thread may add.
final class Recorded<Value: Sendable>: @unchecked Sendable {
  // Guarded by `lock`.
  private var all: [Value] = []
  private let lock = NSLock()

  var values: [Value] { lock.withLock { all } }

  func add(_ value: Value) { lock.withLock { all.append(value) } }
}
