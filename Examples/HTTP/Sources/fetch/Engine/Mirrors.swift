import Foundation
import Synchronization

/// The error of a connection that is much slower than other mirrors.
struct TooSlow: Error, CustomStringConvertible {
  let description = "much slower than the other mirrors"
}

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
    let turned = mirrors.indices.map { mirrors[($0 + rotation) % mirrors.count] }
    let known = turned.map { records[Self.key($0)] ?? Record() }
    let fastest = known.compactMap(\.speed).max()
    // Zero for a mirror that isn't much slower than the fastest one, one for a mirror that is, two
    // for one that is much slower than that, and so on; zero also for an unknown speed.
    func slowness(_ speed: Double?) -> Int {
      guard let speed, let fastest, speed > 0 else { return 0 }
      return Int(log(fastest / speed) / log(Self.muchFaster))
    }
    return turned.indices.sorted { first, second in
      (known[first].failures, slowness(known[first].speed), first)
        < (known[second].failures, slowness(known[second].speed), second)
    }
    .map { turned[$0] }
  }

  /// Returns the answer of a server.
  ///
  /// A server that refuses connections can be one that restarts, but only if it has answered before;
  /// otherwise, a typing error is likelier, and another attempt is useless.
  func noting<T>(_ mirror: URL, _ answer: Result<T, any Error>) throws -> T {
    do {
      let answer = try answer.get()
      change(mirror) { $0.hasAnswered = true }
      return answer
    } catch let error as ConnectionFailure where error.isRefusal {
      throw ConnectionFailure("\(error)", isTransient: change(mirror) { $0.hasAnswered })
    }
  }

  /// Runs `body`; if it throws an error other than `CancellationError`, records a failure of the
  /// server.
  func blaming<T>(_ mirror: URL, _ body: () throws -> T) throws -> T {
    do { return try body() } catch {
      if !(error is CancellationError) { blame(mirror) }
      throw error
    }
  }

  /// Records a failure of a server.
  func blame(_ mirror: URL) { change(mirror) { $0.failures += 1 } }

  /// Records that a server sent a wrong file, which outweighs other failures.
  func blameForWrongFile(_ mirror: URL) { change(mirror) { $0.failures += Self.weightOfWrongFile } }

  /// Records the speed of a server.
  func note(_ mirror: URL, bytes: Int, in duration: Duration) {
    guard bytes > 100_000, duration > .zero else { return }
    let speed = Double(bytes) / (duration / .seconds(1))
    change(mirror) { $0.speed = 0.5 * ($0.speed ?? speed) + 0.5 * speed }
  }

  /// Whether one of `others` is known to be much faster than `speed`, in bytes per second.
  func isMuchSlower(_ speed: Double, than others: [URL]) -> Bool {
    let records = records.withLock { $0 }
    return others.contains { other in
      guard let record = records[Self.key(other)], let known = record.speed else { return false }
      return record.failures < Self.weightOfWrongFile && speed * Self.muchFaster < known
    }
  }

  @discardableResult
  private func change<T: Sendable>(_ mirror: URL, _ body: (inout Record) -> T) -> T {
    records.withLock { body(&$0[Self.key(mirror), default: Record()]) }
  }

  /// The part of a URL before its path, which takes less time than its components.
  private static func key(_ url: URL) -> String {
    url.absoluteString.split(separator: "/", maxSplits: 3).prefix(2).joined(separator: "/")
  }
}
