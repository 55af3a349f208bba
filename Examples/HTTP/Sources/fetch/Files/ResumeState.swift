import Foundation

/// The validators of a file, which make it possible to request the rest of the same file later.
struct Validator: Codable, Sendable, Equatable {
  /// The entity tag, strong or weak.
  var entityTag: String?
  /// The date of the last modification, as the server sent it.
  var lastModified: String?
  /// The date of the response, as the server sent it.
  var date: String?

  /// Creates a validator from header fields; nil if they contain none.
  init?(entityTag: String?, lastModified: String?, date: String? = nil) {
    if entityTag == nil, lastModified == nil { return nil }
    (self.entityTag, self.lastModified, self.date) = (entityTag, lastModified, date)
  }

  /// The value of the `If-Range` header field; nil if no validator is strong.
  ///
  /// A weak entity tag doesn't guarantee identical bytes (RFC 9110, 8.8.3).
  var ifRange: String? { strongTag ?? strongDate }

  /// The entity tag if it guarantees identical bytes, whatever the URL is.
  var strongTag: String? {
    // Anything else than a quoted text is malformed, and doesn't guarantee anything.
    entityTag.flatMap { $0.count > 2 && $0.hasPrefix("\"") && $0.hasSuffix("\"") ? $0 : nil }
  }

  /// The date of the last modification if the response was sent at least one second later;
  /// otherwise, the file could have changed again within that second (RFC 9110, 8.8.2.2).
  private var strongDate: String? {
    guard let lastModified, let date, lastModified != date,
      let modification = Self.time(lastModified), let response = Self.time(date)
    else { return nil }
    return modification.lexicographicallyPrecedes(response) ? lastModified : nil
  }

  /// Returns whether a partial response with this validator can be a part of the same file.
  ///
  /// It must contain the entity tag, but not the date (RFC 9110, 15.3.7).
  func allows(_ other: Validator?) -> Bool {
    guard let other else { return entityTag == nil }
    if let entityTag, let tag = other.entityTag {
      if entityTag != tag { return false }
      if strongTag != nil { return true }
    }
    if let lastModified, let date = other.lastModified { return lastModified == date }
    return entityTag == other.entityTag
  }

  /// Returns whether a response with this validator certainly contains the same file.
  func identifies(_ other: Validator?) -> Bool {
    if let strongTag { return strongTag == other?.entityTag }
    return strongDate != nil && strongDate == other?.lastModified && allows(other)
  }

  /// Returns the numbers of an HTTP date as in `Sun, 06 Nov 1994 08:49:37 GMT`, from the year to the
  /// second; nil if the text has another format.
  private static func time(_ text: String) -> [Int]? {
    guard
      let match = text.wholeMatch(of: /\w{3}, (\d\d) (\w{3}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT/),
      let month = months.firstIndex(of: String(match.2))
    else { return nil }
    let numbers = [match.3, "\(month)", match.1, match.4, match.5, match.6].compactMap { Int($0) }
    return numbers.count == 6 ? numbers : nil
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}

/// A part of a file, and how much of it has arrived.
struct Segment: Codable, Sendable, Equatable {
  var start = 0
  /// The position of the first missing byte.
  var position = 0
  /// The position after the last byte; nil if the size of the file is unknown.
  var end: Int?

  var isComplete: Bool { position == end }
  /// The number of missing bytes; zero if it is unknown.
  var missing: Int { end.map { $0 - position } ?? 0 }
}

/// The state of a partial download: which file, and how much of it has arrived.
struct ResumeState: Codable, Sendable, Equatable {
  /// The URL whose response determined the version of the file; nil before the first response.
  var source: URL?
  /// The validator in that response, if all bytes from servers belong to the version that it
  /// describes.
  var validator: Validator?
  /// The size of the file in bytes; nil if it is unknown.
  var size: Int?
  /// The segments of the file, in order.
  var segments = [Segment()]

  /// The number of bytes that are present.
  var received: Int { segments.reduce(0) { $0 + $1.position - $1.start } }

  /// The position after the last byte that is present.
  var end: Int { segments.filter { $0.position > $0.start }.map(\.position).max() ?? 0 }

  /// Whether the state describes a file of `length` bytes: the segments cover the file without gaps,
  /// each position is within its segment, and all bytes that have arrived are in the file.
  func isContained(in length: Int) -> Bool {
    var next: Int? = 0
    for segment in segments {
      guard segment.start == next, segment.start <= segment.position,
        segment.position <= segment.end ?? .max
      else { return false }
      next = segment.end
    }
    return !segments.isEmpty && end <= length && (size == nil || next == size)
  }

  /// Divides the missing bytes into up to `count` segments of at least `minimum` bytes.
  mutating func split(into count: Int, minimum: Int) {
    while segments.count(where: { !$0.isComplete }) < count {
      let largest = segments.indices.max { segments[$0].missing < segments[$1].missing }
      guard let index = largest, segments[index].missing >= 2 * minimum else { return }
      var second = segments[index]
      second.start = second.position + second.missing / 2
      second.position = second.start
      segments[index].end = second.start
      segments.insert(second, at: index + 1)
    }
  }
}

/// The value of a `Content-Range` header field, as in `bytes 100-199/2000`.
struct ContentRange: Sendable, Equatable {
  /// The positions of the bytes; nil if there are none, as in `bytes */2000`.
  let range: Range<Int>?
  /// The size of the file in bytes; nil if the server doesn't know it.
  let size: Int?

  /// Parses a value; nil if it is invalid.
  init?(_ text: String) {
    guard
      let match = text.wholeMatch(of: /\s*[Bb]ytes\s+(?:(\d+)-(\d+)|\*)\/(?:(\d+)|\*)\s*/)
    else { return nil }
    size = match.3.flatMap { Int($0) }
    guard let first = match.1, let last = match.2 else {
      range = nil
      return
    }
    guard let first = Int(first), let last = Int(last), first <= last, last < size ?? .max
    else { return nil }
    range = first..<(last + 1)
  }
}
