import Foundation
import Testing

@testable import fetch

@Suite struct MirrorsTests {
  private static let far = ["slow": 120_000, "fast": 9_000_000, "middle": 1_000_000]
  /// Each is less than eight times as fast as the one before, but the last is much faster than the
  /// first.
  private static let near = ["a": 200_000, "b": 1_000_000, "c": 4_000_000]

  @Test(
    arguments: [
      (far, nil, 0, "slow fast middle", "fast middle slow"),
      (far, nil, 1, "slow fast middle", "fast middle slow"),
      (far, nil, 2, "slow fast middle", "fast middle slow"),
      (near, nil, 0, "a b c", "b c a"), (near, nil, 0, "a c b", "c b a"),
      (near, nil, 0, "b a c", "b c a"), (near, nil, 0, "c b a", "c b a"),
      (near, nil, 0, "b c", "b c"), (near, nil, 1, "b c", "c b"),
      (["fast": 9_000_000, "slow": 200_000], "fast", 0, "fast slow unknown", "unknown slow fast"),
    ] as [([String: Int], String?, Int, String, String)])
  func ranked_putsMuchSlowerMirrorsLast_andFailuresAfterThem(
    speeds: [String: Int], failed: String?, rotation: Int, hosts: String, order: String
  ) throws {
    let mirrors = Mirrors()
    func address(_ host: some StringProtocol) throws -> URL {
      try #require(URL(string: "http://\(host)/x"))
    }
    for (host, speed) in speeds { mirrors.note(try address(host), bytes: speed, in: .seconds(1)) }
    if let failed { mirrors.blame(try address(failed)) }
    let ranked = mirrors.ranked(try hosts.split(separator: " ").map(address), rotation: rotation)
    #expect(ranked.map { $0.host() ?? "" }.joined(separator: " ") == order)
  }
}
