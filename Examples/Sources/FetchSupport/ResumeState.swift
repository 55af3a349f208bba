import Foundation

/// The validators of a file, which make it possible to request the rest of the same file later.
public struct Validator: Codable, Sendable, Equatable {
  /// The entity tag, which is a strong one.
  public var entityTag: String?
  /// The date of the last modification, as the server sent it.
  public var lastModified: String?

  /// Creates a validator from header fields; nil if they contain no reliable one.
  ///
  /// A weak entity tag doesn't guarantee identical bytes (RFC 9110, 8.8.3).
  public init?(entityTag: String?, lastModified: String?) {
    self.entityTag = entityTag.flatMap { $0.hasPrefix("W/") ? nil : $0 }
    self.lastModified = lastModified
    if self.entityTag == nil, lastModified == nil { return nil }
  }

  /// The value of the `If-Range` header field.
  public var ifRange: String? { entityTag ?? lastModified }

  /// Whether a partial response with this validator can be a part of the same file.
  ///
  /// It must contain the entity tag, but not the date (RFC 9110, 15.3.7).
  public func allows(_ other: Validator?) -> Bool {
    other.map(agrees) ?? (entityTag == nil)
  }

  /// Whether a response with `other` can be a part of the same file.
  func agrees(with other: Validator) -> Bool {
    if let entityTag, let tag = other.entityTag { return entityTag == tag }
    if let lastModified, let date = other.lastModified { return lastModified == date }
    return false
  }
}

/// A part of a file, and how much of it has arrived.
public struct Segment: Codable, Sendable, Equatable {
  /// The position of the first byte.
  public var start: Int
  /// The position of the first missing byte.
  public var position: Int
  /// The position after the last byte; nil if the size of the file is unknown.
  public var end: Int?

  /// Creates a segment without any received bytes.
  public init(start: Int = 0, end: Int? = nil) {
    self.start = start
    position = start
    self.end = end
  }

  /// Whether all bytes of the segment have arrived.
  public var isComplete: Bool { position == end }
}

/// The state of a partial download: which file, and how much of it has arrived.
public struct ResumeState: Codable, Sendable, Equatable {
  /// The validator of the file, if the server sent one.
  public var validator: Validator?
  /// The size of the file in bytes; nil if it is unknown.
  public var size: Int?
  /// The segments of the file, in order.
  public var segments: [Segment]

  /// Creates the state of a file without any received bytes.
  public init() { segments = [Segment()] }

  /// The number of bytes that have arrived.
  public var received: Int { segments.reduce(0) { $0 + $1.position - $1.start } }

  /// Whether all bytes have arrived.
  public var isComplete: Bool { !segments.contains { !$0.isComplete } }

  /// Whether the segments cover the file without gaps, and each position is within its segment.
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

  /// Divides the missing bytes into up to `count` segments of at least `minimum` bytes.
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

  /// Records that bytes of the segment that starts at `start` have arrived.
  mutating func advance(_ start: Int, by count: Int) {
    guard let index = segments.firstIndex(where: { $0.start == start }) else { return }
    segments[index].position += count
  }

  private func missing(_ index: Int) -> Int {
    segments[index].end.map { $0 - segments[index].position } ?? 0
  }
}

/// The value of a `Content-Range` header field, as in `bytes 100-199/2000`.
public struct ContentRange: Sendable, Equatable {
  /// The positions of the bytes; nil if there are none, as in `bytes */2000`.
  public let range: Range<Int>?
  /// The size of the file in bytes; nil if the server doesn't know it.
  public let size: Int?

  /// Parses a value; nil if it is invalid.
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
