import FetchSupport
import Foundation
import Synchronization

/// Statistics about the servers, across all files.
final class Mirrors: Sendable {
  private struct Record {
    var failures = 0
    /// The average speed of a connection, in bytes per second.
    var speed: Double?
    var hasAnswered = false
  }

  private static let weightOfWrongFile = 100
  /// How many times as fast a much faster mirror is.
  private static let muchFaster = 8.0

  private let records = Mutex<[String: Record]>([:])

  /// Returns the mirrors of a file, the best one first.
  ///
  /// Mirrors with fewer failures come first, and among equals, those that aren't much slower than
  /// the fastest mirror. `rotation` distributes the segments of a file over mirrors that are equally
  /// good.
  func ranked(_ mirrors: [URL], rotation: Int) -> [URL] {
    guard mirrors.count > 1 else { return mirrors }
    let records = records.withLock { $0 }
    let turned = (0..<mirrors.count).map { mirrors[($0 + rotation) % mirrors.count] }
    let known = turned.map { records[Self.key($0)] ?? Record() }
    let fastest = known.compactMap(\.speed).max()
    let keys = known.enumerated().map { index, record in
      (record.failures, Self.slowness(record.speed, fastest: fastest), index)
    }
    let order = turned.indices.sorted { keys[$0] < keys[$1] }
    return order.map { turned[$0] }
  }

  /// Returns the answer of a server.
  ///
  /// A server that refuses connections can be one that restarts, but only if it has answered before;
  /// otherwise, a typing error is likelier, and another attempt is useless.
  func noting<T>(_ mirror: URL, _ answer: Result<T, any Error>) throws -> T {
    do {
      let answer = try answer.get()
      records.withLock { $0[Self.key(mirror), default: Record()].hasAnswered = true }
      return answer
    } catch let error as ConnectionFailure where error.isRefusal {
      let hasAnswered = records.withLock { $0[Self.key(mirror)]?.hasAnswered ?? false }
      throw ConnectionFailure("\(error)", isTransient: hasAnswered)
    }
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

  private static func isMuchSlower(_ first: Double, than second: Double?) -> Bool {
    guard let second else { return false }
    return first * muchFaster < second
  }

  /// Zero for a mirror that isn't much slower than the fastest one, one for a mirror that is, two for
  /// one that is much slower than that, and so on; zero also for an unknown speed.
  private static func slowness(_ speed: Double?, fastest: Double?) -> Int {
    guard let speed, let fastest, speed > 0 else { return 0 }
    return Int(log(fastest / speed) / log(muchFaster))
  }

  /// The part of a URL before its path, which takes less time than its components.
  private static func key(_ url: URL) -> String {
    let text = url.absoluteString
    var slashes = 0
    let end = text.utf8.firstIndex { byte in
      slashes += byte == UInt8(ascii: "/") ? 1 : 0
      return slashes == 3
    }
    return String(text[..<(end ?? text.endIndex)])
  }
}
