import Foundation
import Pledge
import PledgeFoundation
import PledgeTesting
import Testing

@testable import fetch

/// The disk, and what an earlier run left there.
extension EngineTests {
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
    let options = Options(policy: .fixed(attempts: 2))
    let mirrors = fromMirrorsThatDiffer ? [a, b] : [a]
    for file in [
      Download(name: "x", mirrors: mirrors, checksum: Checksum(of: old)),
      Download(name: "x", mirrors: [a]),
    ] {
      _ = try outcomes(of: [file], options: options, from: network)
      if isFirstRun { #expect(disk.partialNames == ["x"]) }
      isFirstRun = false
    }
    #expect(disk.files["x"] == new)
  }

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

  private static let content = Data((0..<(3 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) })

  /// Downloads `x` from a server that breaks the connection after 2 of 3 MiB.
  private func leavePartialFile(tag: String?, from url: String) throws {
    let network = SimulatedNetwork(world, pieceSize: 1 << 20) { asked in
      if asked.headers["Range"] != nil { throw ConnectionFailure("down", isTransient: false) }
      var reply = Reply(body: Self.content, stop: 2 << 20)
      reply.headers["last-modified"] = "Mon, 23 Nov 2026 08:00:00 GMT"
      reply.headers["date"] = "Mon, 23 Nov 2026 09:00:00 GMT"
      reply.headers["etag"] = tag
      return reply
    }
    _ = try outcome(of: url, checksum: false, from: network)
    #expect(disk.partialNames == ["x"])
  }

  @Test(arguments: ["a refused connection", "a missing file", "no byte", "another file"])
  func bytesOfAnEarlierRun_areKeptUntilAGoodResponse(server: String) throws {
    try leavePartialFile(tag: "\"1\"", from: "http://a/x")
    let before = disk.partial["x"]
    let options = Options(policy: .fixed(attempts: 1))
    let network = network { _ in
      switch server {
      case "a refused connection": throw ConnectionFailure("refused", isRefusal: true)
      case "a missing file": Reply(status: 404)
      case "no byte": Reply(body: Self.content, stop: 0)
      default: Reply(body: self.bytes)
      }
    }
    // The URL is another one, so nothing that is present can be used.
    _ = try outcome(of: "http://b/y", checksum: false, options: options, from: network)
    #expect(network.asked.allSatisfy { $0.headers["Range"] == nil })
    if server == "another file" {
      #expect(disk.files["x"] == bytes && disk.partialNames.isEmpty)
    } else {
      #expect(disk.partial["x"] == before, "\(server)")
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
    try leavePartialFile(tag: tag, from: "http://a/x?signature=1")
    let network = SimulatedNetwork(world, pieceSize: 1 << 20) {
      part($0, of: Self.content, tag: tag)
    }
    let file = Download(
      name: "x", mirrors: [try address("http://a/x?signature=2")],
      checksum: hasChecksum ? Checksum(of: Self.content) : nil)
    _ = try outcomes(of: [file], from: network)
    #expect(disk.files["x"] == Self.content)
    #expect(network.asked.map { $0.headers["Range"] != nil } == [isContinued])
    if isContinued, !hasChecksum { #expect(network.asked[0].headers["If-Range"] == tag) }
  }
}
