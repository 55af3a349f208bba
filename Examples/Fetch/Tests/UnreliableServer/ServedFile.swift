import Foundation

/// A file that the server provides.
public struct ServedFile: Sendable, Equatable {
  /// The name of the file.
  public var name: String

  /// The URL of the file on each mirror.
  public var urls: [URL]

  /// The size of the file, in bytes.
  public var size: Int

  /// The SHA-256 checksum of the file, in hexadecimal digits.
  public var sha256: String
}

/// The counts of requests and faults.
public struct Tally: Sendable, Equatable {
  /// The number of requests for files.
  public private(set) var requests = 0

  /// The number of requests for a part of a file that were answered with that part.
  public private(set) var partialAnswers = 0

  private var counts: [Conduct: Int] = [:]

  /// The number of requests that met with `conduct`.
  public subscript(conduct: Conduct) -> Int {
    counts[conduct, default: 0]
  }

  /// The number of requests that met a fault.
  public var misbehaviors: Int {
    requests - self[.honest]
  }

  init() {}

  mutating func count(_ conduct: Conduct) {
    requests += 1
    counts[conduct, default: 0] += 1
  }

  mutating func count(range: Range<Int>?) {
    if range != nil { partialAnswers += 1 }
  }

  mutating func add(_ other: Tally) {
    requests += other.requests
    partialAnswers += other.partialAnswers
    counts.merge(other.counts, uniquingKeysWith: +)
  }
}
