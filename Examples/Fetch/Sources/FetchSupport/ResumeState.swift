import Foundation

/// The validators of a file, which make it possible to request the rest of the same file later.
public struct Validator: Codable, Sendable, Equatable {
  /// The entity tag, strong or weak.
  public var entityTag: String?
  /// The date of the last modification, as the server sent it.
  public var lastModified: String?
  /// The date of the response, as the server sent it.
  public var date: String?

  /// Creates a validator from header fields; nil if they contain none.
  public init?(entityTag: String?, lastModified: String?, date: String? = nil) {
    self.entityTag = entityTag
    self.lastModified = lastModified
    self.date = date
    if entityTag == nil, lastModified == nil { return nil }
  }

  /// The value of the `If-Range` header field; nil if no validator is strong.
  ///
  /// A weak entity tag doesn't guarantee identical bytes (RFC 9110, 8.8.3).
  public var ifRange: String? { strongTag ?? strongDate }

  /// Whether the entity tag guarantees identical bytes, whatever the URL is.
  public var hasStrongTag: Bool { strongTag != nil }

  private var strongTag: String? {
    // Anything else than a quoted text is malformed, and doesn't guarantee anything.
    entityTag.flatMap { $0.count > 2 && $0.hasPrefix("\"") && $0.hasSuffix("\"") ? $0 : nil }
  }

  /// The date of the last modification if the response was sent at least one second later;
  /// otherwise, the file could have changed again within that second (RFC 9110, 8.8.2.2).
  private var strongDate: String? {
    guard let lastModified, let date, lastModified != date,
      let modification = Self.seconds(lastModified), let response = Self.seconds(date)
    else { return nil }
    return modification < response ? lastModified : nil
  }

  /// Returns whether a partial response with this validator can be a part of the same file.
  ///
  /// It must contain the entity tag, but not the date (RFC 9110, 15.3.7).
  public func allows(_ other: Validator?) -> Bool {
    guard let other else { return entityTag == nil }
    if let entityTag, let tag = other.entityTag {
      if entityTag != tag { return false }
      if strongTag != nil { return true }
    }
    if let lastModified, let date = other.lastModified { return lastModified == date }
    return entityTag == other.entityTag
  }

  /// Returns whether a response with this validator certainly contains the same file.
  public func identifies(_ other: Validator?) -> Bool {
    if let strongTag { return strongTag == other?.entityTag }
    return strongDate != nil && strongDate == other?.lastModified && allows(other)
  }

  /// Returns the time of an HTTP date as in `Sun, 06 Nov 1994 08:49:37 GMT`, in seconds; nil if the
  /// text has another format.
  private static func seconds(_ text: String) -> Int? {
    let bytes = Array(text.utf8)
    guard bytes.count == 29, text.hasSuffix(" GMT"),
      let month = months.firstIndex(of: String(decoding: bytes[8..<11], as: UTF8.self))
    else { return nil }
    let numbers = [5..<7, 12..<16, 17..<19, 20..<22, 23..<25].compactMap { range in
      Int(String(decoding: bytes[range], as: UTF8.self))
    }
    guard numbers.count == 5 else { return nil }
    let (day, year, hour, minute, second) = (
      numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    )
    // Only the order matters, so all months can have the same length.
    return ((((year * 12 + month) * 31 + day) * 24 + hour) * 60 + minute) * 61 + second
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
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
  /// The URL whose response determined the version of the file; nil before the first response.
  public var source: URL?
  /// The validator in that response, if all bytes from servers belong to the version that it
  /// describes.
  public var validator: Validator?
  /// The size of the file in bytes; nil if it is unknown.
  public var size: Int?
  /// The segments of the file, in order.
  public var segments: [Segment]

  /// Creates the state of a file of which no bytes have arrived.
  public init() { segments = [Segment()] }

  /// The number of bytes that are present.
  public var received: Int { segments.reduce(0) { $0 + $1.position - $1.start } }

  /// Whether all bytes have arrived.
  public var isComplete: Bool { !segments.contains { !$0.isComplete } }

  /// Whether the state describes a file of `length` bytes: the segments cover the file without gaps,
  /// each position is within its segment, and all bytes that have arrived are in the file.
  func isContained(in length: Int) -> Bool {
    var next: Int? = 0
    for segment in segments {
      guard segment.start == next, segment.start <= segment.position,
        segment.position <= segment.end ?? .max,
        segment.position == segment.start || segment.position <= length
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
