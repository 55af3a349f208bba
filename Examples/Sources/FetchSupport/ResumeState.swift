import Foundation

/// What the server said a file is, so that the rest of it can be asked for later.
public struct Validator: Codable, Sendable, Equatable {
  /// The entity tag, a strong one.
  public var entityTag: String?
  /// The date of the last change, as the server wrote it.
  public var lastModified: String?

  /// Creates a validator from header fields; nil if they hold none that can be relied on.
  ///
  /// A weak entity tag tells nothing about single bytes (RFC 9110, 8.8.3).
  public init?(entityTag: String?, lastModified: String?) {
    self.entityTag = entityTag.flatMap { $0.hasPrefix("W/") ? nil : $0 }
    self.lastModified = lastModified
    if self.entityTag == nil, lastModified == nil { return nil }
  }

  /// The value of the header field `If-Range`.
  public var ifRange: String? { entityTag ?? lastModified }

  /// Whether an answer with `other` can be a part of the same file.
  public func agrees(with other: Validator) -> Bool {
    if let entityTag, let tag = other.entityTag { return entityTag == tag }
    if let lastModified, let date = other.lastModified { return lastModified == date }
    return false
  }
}

/// A part of a file, and how much of it has arrived.
public struct Segment: Codable, Sendable, Equatable {
  /// The position of the first byte.
  public var start: Int
  /// The position of the first byte that is missing.
  public var position: Int
  /// The position after the last byte; nil if the size of the file is unknown.
  public var end: Int?

  /// Creates a segment of which nothing has arrived.
  public init(start: Int = 0, end: Int? = nil) {
    self.start = start
    position = start
    self.end = end
  }

  /// Whether all of it has arrived.
  public var isComplete: Bool { position == end }
}

/// How much of a file has arrived, and of which file.
public struct ResumeState: Codable, Sendable, Equatable {
  /// What the server said about the file.
  public var validator: Validator?
  /// The number of bytes; nil if it is unknown.
  public var size: Int?
  /// The parts of the file, in order.
  public var segments: [Segment]

  /// Creates the state of a file of which nothing has arrived.
  public init() { segments = [Segment()] }

  /// How many bytes have arrived.
  public var received: Int { segments.reduce(0) { $0 + $1.position - $1.start } }

  /// Whether all bytes have arrived.
  public var isComplete: Bool { !segments.contains { !$0.isComplete } }

  /// Whether the segments cover the file, each with a position inside it, and without gaps.
  var isContiguous: Bool {
    var next: Int? = 0
    for segment in segments {
      guard segment.start == next, segment.start <= segment.position,
        segment.position <= segment.end ?? .max
      else { return false }
      next = segment.end
    }
    return !segments.isEmpty && (size == nil || next == size)
  }

  /// Divides what is missing into up to `count` segments of at least `minimum` bytes.
  public mutating func split(into count: Int, minimum: Int) {
    while segments.count(where: { !$0.isComplete }) < count {
      let largest = segments.indices.max { missing($0) < missing($1) }
      guard let index = largest, let end = segments[index].end, missing(index) >= 2 * minimum
      else { return }
      let middle = segments[index].position + missing(index) / 2
      segments[index].end = middle
      segments.insert(Segment(start: middle, end: end), at: index + 1)
    }
  }

  /// Notes that bytes of the segment that starts at `start` have arrived.
  mutating func advance(_ start: Int, by count: Int) {
    guard let index = segments.firstIndex(where: { $0.start == start }) else { return }
    segments[index].position += count
  }

  private func missing(_ index: Int) -> Int {
    segments[index].end.map { $0 - segments[index].position } ?? 0
  }
}

/// The header field `Content-Range`, as in `bytes 100-199/2000`.
public struct ContentRange: Sendable, Equatable {
  /// The positions of the bytes; nil where there are none, as in `bytes */2000`.
  public let range: Range<Int>?
  /// The size of the file; nil where the server does not know it.
  public let size: Int?

  /// Creates a range from its text; anything else gives `nil`.
  public init?(_ text: String) {
    guard
      let match = text.wholeMatch(of: /\s*[Bb]ytes\s+(?:(\d+)-(\d+)|\*)\/(?:(\d+)|\*)\s*/)
    else { return nil }
    size = match.3.flatMap { Int($0) }
    guard let first = match.1, let last = match.2 else {
      range = nil
      return
    }
    guard let first = Int(first), let last = Int(last), first <= last, last < .max,
      last < size ?? .max
    else { return nil }
    range = first..<(last + 1)
  }
}
