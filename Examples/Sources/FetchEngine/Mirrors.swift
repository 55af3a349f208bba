import FetchSupport
import Foundation
import Synchronization

/// Statistics about the servers, across all files.
final class Mirrors: Sendable {
  private struct Record {
    var failures = 0
    /// The average speed of a connection, in bytes per second.
    var speed: Double?
  }

  private static let weightOfWrongFile = 100

  private let records = Mutex<[String: Record]>([:])

  /// Returns the mirrors of a file, the best one first.
  ///
  /// Mirrors with fewer failures come first, and among equals, much faster ones. `rotation`
  /// distributes the segments of a file over mirrors that are equally good.
  func ranked(_ mirrors: [URL], rotation: Int) -> [URL] {
    guard mirrors.count > 1 else { return mirrors }
    let records = records.withLock { $0 }
    let turned = (0..<mirrors.count).map { mirrors[($0 + rotation) % mirrors.count] }
    let known = turned.map { records[Self.key($0)] ?? Record() }
    let order = turned.indices.sorted { first, second in
      let (a, b) = (known[first], known[second])
      if a.failures != b.failures { return a.failures < b.failures }
      if Self.isMuchSlower(a.speed, than: b.speed) { return false }
      if Self.isMuchSlower(b.speed, than: a.speed) { return true }
      return first < second
    }
    return order.map { turned[$0] }
  }

  /// Records a failure of a server.
  func blame(_ mirror: URL) { add(1, to: mirror) }

  /// Records that a server sent a wrong file, which outweighs other failures.
  func blameForWrongFile(_ mirror: URL) { add(Self.weightOfWrongFile, to: mirror) }

  private func add(_ failures: Int, to mirror: URL) {
    records.withLock { $0[Self.key(mirror), default: Record()].failures += failures }
  }

  /// Records the speed of a server.
  func note(_ mirror: URL, bytes: Int, in duration: Duration) {
    guard bytes > 100_000, duration > .zero else { return }
    let speed = Double(bytes) / (duration / .seconds(1))
    records.withLock { records in
      let old = records[Self.key(mirror)]?.speed ?? speed
      records[Self.key(mirror), default: Record()].speed = 0.5 * old + 0.5 * speed
    }
  }

  /// Whether one of `others` is known to be much faster than `speed`, in bytes per second.
  func isMuchSlower(_ speed: Double, than others: [URL]) -> Bool {
    let records = records.withLock { $0 }
    return others.contains { other in
      guard let record = records[Self.key(other)], record.failures < Self.weightOfWrongFile else {
        return false
      }
      return Self.isMuchSlower(speed, than: record.speed)
    }
  }

  private static func isMuchSlower(_ first: Double?, than second: Double?) -> Bool {
    guard let first, let second else { return false }
    return first * 8 < second
  }

  private static func key(_ url: URL) -> String {
    "\(url.scheme ?? "")://\(url.host() ?? ""):\(url.port ?? 0)"
  }
}
