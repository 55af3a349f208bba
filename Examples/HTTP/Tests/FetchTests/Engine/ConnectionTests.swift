import Foundation
import Pledge
import PledgeFoundation
import PledgeTesting
import Testing

@testable import fetch

/// Connections that are slow, silent, refused, or broken, and the limits of their number.
extension EngineTests {
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

  @Test func connectionThatBreaksAgainAndAgain_isNoReasonToGiveUpWhileItGetsOn() throws {
    let options = Options(policy: .fixed(attempts: 2))
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
    let busy = Reply(status: 503, headers: ["retry-after": "30"])
    let network = network { self.world.now < .seconds(30) ? busy : part($0) }
    _ = try outcome(from: network) { event in
      if case .waiting(_, let delay, _, askedByServer: true) = event { waits.record(delay) }
    }
    #expect(waits.events == [.seconds(30)])
    #expect(disk.files["x"] == bytes)
  }

  @Test func redirections_keepEscapes_andSecretsAreForTheHostThatTheUserNamed() throws {
    let options = Options(settings: RequestSettings(headers: ["Cookie": "c", "X-Mine": "m"]))
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
    disk.beforeOpen = { if count.call() <= failures { throw FileFailure(.open, "x", EMFILE) } }
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
    let options = Options(concurrency: 1)
    let files = try [
      Download(name: "first", mirrors: [address("http://a/first")]),
      Download(name: "x", mirrors: [address("http://a/x"), address("http://b/x")]),
    ]
    _ = try outcomes(of: files, options: options, from: network)
    #expect(disk.files["first"] == large && disk.files["x"] == large)
    #expect(world.now > .seconds(40), "\(world.now)")
  }

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
    let stalls = StallLimit(limit: .seconds(5), time: world.time)
    let (promise, resolver) = Promise<Void>.withResolvers()
    let meter = Meter(world.now)
    let watched = stalls.watch(promise, meter)
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
    let options = Options(
      connectionsPerHost: 1, policy: .fixed(attempts: 1), stall: .milliseconds(60))
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
    let options = Options(concurrency: 2)
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
}
