import Foundation
import Pledge
import PledgeFoundation
import Testing

@testable import fetch

/// Hundreds of simulations with random faults, each determined by its seed.
///
/// `PLEDGE_SEED=17` runs a single simulation, and `PLEDGE_FULL=1` runs 5,000 of them. They run one after
/// the other: in parallel, they would take all threads of the tests that wait for a process.
@Suite(.serialized) struct SimulationTests {
  private static let seeds: ClosedRange<UInt64> = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["PLEDGE_SEED"].flatMap(UInt64.init) { return seed...seed }
    return 1...(environment["PLEDGE_FULL"] == "1" ? 5000 : 400)
  }()

  /// The servers of one simulation: three mirrors, files that change, and random faults.
  ///
  /// `@unchecked Sendable`: used by one thread, that of its world.
  private final class Servers: @unchecked Sendable {
    let world: World
    var faults: Double
    private let hasRanges: Bool
    private let hasTags: Bool
    private let liar: Int?
    private let changes: Bool
    private var version = 0

    init(_ world: World) {
      self.world = world
      faults = [0.1, 0.3, 0.6].randomElement(using: &world.random) ?? 0
      hasRanges = world.random.happens(0.8)
      hasTags = world.random.happens(0.7)
      liar = world.random.happens(0.2) ? 2 : nil
      changes = world.random.happens(0.3)
    }

    /// Returns the bytes of a version of a file; all versions have the same size.
    func bytes(_ file: Int, version: Int) -> Data {
      let size = [0, 1, 999, 30_000, 200_000][file % 5]
      // A shifted pattern, so that two versions of a file don't have long ranges in common.
      return Self.pattern.dropFirst(file * 1009 + version * 97).prefix(size)
    }

    private static let pattern: Data = {
      var random = SplitMix(state: 77)
      var words = (0..<40_000).map { _ in random.next() }
      return Data(bytes: &words, count: words.count * 8)
    }()

    func answer(_ asked: Asked) throws -> Reply {
      let mirror = Int(asked.url.host()?.dropFirst() ?? "") ?? 0
      let file = Int(asked.url.lastPathComponent) ?? 0
      // Files with even numbers have a checksum and never change.
      if changes, file % 2 == 1, world.random.happens(0.1) { version += 1 }
      let current = file % 2 == 1 ? version : 0
      var reply = asked.reply(
        with: Data(bytes(file, version: current)), tag: "\"\(current)\"", hasRanges: hasRanges)
      if !hasTags { reply.headers["etag"] = nil }
      if mirror == liar, file % 2 == 0, !reply.body.isEmpty {
        reply.body[reply.body.count / 2] ^= 1
      }
      reply.latency = .milliseconds(Int.random(in: 1...400, using: &world.random))
      reply.pause = .milliseconds(Int.random(in: 0...5, using: &world.random))
      guard world.random.happens(faults) else { return reply }
      return try spoil(reply, file)
    }

    private func spoil(_ reply: Reply, _ file: Int) throws -> Reply {
      var reply = reply
      let middle =
        reply.body.isEmpty ? 0 : Int.random(in: 0..<reply.body.count, using: &world.random)
      switch Int.random(in: 0...7, using: &world.random) {
      case 0: throw ConnectionFailure("connection refused")
      case 1: return Reply(status: 503, headers: ["retry-after": "2"])
      case 2: return Reply(status: 500)
      case 3: return Reply(status: 429)
      case 4 where !reply.body.isEmpty: (reply.stop, reply.isSilent) = (middle, true)
      case 5: reply.latency = .seconds(10_000)
      case 6 where file % 2 == 0 && !reply.body.isEmpty: reply.body[middle] ^= 0x40
      default: if !reply.body.isEmpty { reply.stop = middle }
      }
      return reply
    }
  }

  @Test(arguments: seeds)
  func everythingArrives_andNothingIsMixed(seed: UInt64) throws {
    let world = World(seed: seed)
    let servers = Servers(world)
    let disk = SimulatedDisk()
    let options = Options(
      concurrency: Int.random(in: 1...4, using: &world.random),
      split: Int.random(in: 1...4, using: &world.random), minimumSegment: 8000,
      policy: .exponential(attempts: 40, from: .milliseconds(100)).honoringRetryAfter())
    let files = (0..<10).map { file in
      Download(
        name: "\(file)",
        mirrors: (0..<3).map { URL(string: "http://m\($0)/\(file)") }.compactMap(\.self),
        checksum: file % 2 == 0 ? Checksum(of: servers.bytes(file, version: 0)) : nil)
    }
    let kills = world.random.happens(0.5) ? Int.random(in: 1...4, using: &world.random) : 0
    for round in 0...kills {
      // The servers are more reliable during the last run, so that it completes.
      if round == kills { servers.faults = min(servers.faults, 0.3) }
      let network = SimulatedNetwork(world, pieceSize: 7000) { try servers.answer($0) }
      let downloader = Downloader(
        transport: network, storage: disk, options: options, disk: .immediate, time: world.time)
      let work = downloader.downloadAll(files)
      let end = world.now + .milliseconds(Int.random(in: 1...3000, using: &world.random))
      world.run { round < kills ? world.now >= end : !work.isPending }
      if round < kills {
        world.kill()
        continue
      }
      guard case .success(let outcomes) = work.currentResult else {
        Issue.record("seed \(seed): \(work)")
        return
      }
      for case (let file, .failure(let error)) in zip(files, outcomes) {
        Issue.record("seed \(seed): \(file.name) failed: \(error)")
      }
    }
    for file in files {
      let number = Int(file.name) ?? 0
      let versions = (0...30).lazy.map { servers.bytes(number, version: $0) }
      #expect(
        versions.contains { $0 == disk.files[file.name] },
        "seed \(seed): \(file.name) is no version of the file")
    }
    #expect(disk.partialNames.isEmpty, "seed \(seed)")
  }
}
