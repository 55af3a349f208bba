import Foundation

/// A file that the server has.
public struct ServedFile: Sendable, Equatable {
  /// The name of the file.
  public var name: String

  /// Its address on each mirror.
  public var urls: [URL]

  /// The number of its bytes.
  public var size: Int

  /// Its SHA-256 in hexadecimal digits.
  public var sha256: String
}

/// How often the server was asked, and what it did.
public struct Tally: Sendable, Equatable {
  /// How many requests for files there were.
  public private(set) var requests = 0

  /// How many requests were for a part of a file, and were answered with it.
  public private(set) var partialAnswers = 0

  private var counts: [Conduct: Int] = [:]

  /// How many requests met with `conduct`.
  ///
  /// - Parameter conduct: What the server did.
  public subscript(conduct: Conduct) -> Int {
    counts[conduct, default: 0]
  }

  /// How many requests met with something else than an honest answer.
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
