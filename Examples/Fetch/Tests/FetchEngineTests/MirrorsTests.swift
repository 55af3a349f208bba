import Foundation
import Testing

@testable import FetchEngine

@Suite struct MirrorsTests {
  private let mirrors = Mirrors()

  private func address(_ host: String) throws -> URL {
    try #require(URL(string: "http://\(host)/x"))
  }

  private func hosts(_ ranked: [URL]) -> [String] { ranked.map { $0.host() ?? "" } }

  private func note(_ speeds: [(host: String, bytesPerSecond: Int)]) throws {
    for (host, speed) in speeds {
      mirrors.note(try address(host), bytes: speed, in: .seconds(1))
    }
  }

  @Test func muchSlowerMirrors_comeLast_inAnyRotation() throws {
    try note([("slow", 120_000), ("fast", 9_000_000), ("middle", 1_000_000)])
    let all = try ["slow", "fast", "middle"].map(address)
    for rotation in 0..<3 {
      #expect(hosts(mirrors.ranked(all, rotation: rotation)) == ["fast", "middle", "slow"])
    }
  }

  @Test func rank_isTheSame_howeverTheSpeedsLieBetweenTheExtremes() throws {
    // Each is less than eight times as fast as the one before, but the last is much faster than the
    // first.
    try note([("a", 200_000), ("b", 1_000_000), ("c", 4_000_000)])
    for order in [["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"], ["c", "b", "a"]] {
      let ranked = hosts(mirrors.ranked(try order.map(address), rotation: 0))
      #expect(ranked.last == "a")
      #expect(Array(ranked.dropLast()) == order.filter { $0 != "a" })
    }
  }

  @Test func equallyFastMirrors_areRotated() throws {
    try note([("a", 1_000_000), ("b", 2_000_000)])
    let all = try ["a", "b"].map(address)
    #expect(hosts(mirrors.ranked(all, rotation: 0)) == ["a", "b"])
    #expect(hosts(mirrors.ranked(all, rotation: 1)) == ["b", "a"])
  }

  @Test func failures_outweighSpeed() throws {
    try note([("fast", 9_000_000), ("slow", 200_000)])
    mirrors.blame(try address("fast"))
    #expect(
      hosts(mirrors.ranked(try ["fast", "slow", "unknown"].map(address), rotation: 0))
        == ["unknown", "slow", "fast"])
  }
}
