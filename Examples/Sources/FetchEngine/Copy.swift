import FetchSupport
import Foundation
import Pledge
import PledgeFoundation
import Synchronization

/// Where the bytes of a file are until it is whole: a ``PartialFile``, or a simulation of one.
public protocol Part: Sendable {
  /// What an earlier run has left.
  var leftover: ResumeState? { get }
  /// Writes bytes at a position.
  func write(_ bytes: UnsafeRawBufferPointer, at position: Int) throws
  /// Notes how much has arrived, for a later run.
  func save(_ resume: ResumeState) throws
  /// Forgets all.
  func restart() throws
  /// The checksum of what was written.
  func checksum(_ algorithm: ChecksumAlgorithm) throws -> Checksum
}

/// The file that the server has now is not the one of which a part is here.
struct Changed: Error, CustomStringConvertible {
  var description: String { "the file has changed on the server" }
}

/// All bytes of a segment are here; the server sends more than that.
struct EndOfSegment: Error {}

/// A file that is arriving: how much of it is here, and which answers fit to that.
final class Copy: Sendable {
  /// A segment of one version of the file; answers for other versions are not written any more.
  struct Claim: Sendable {
    let start: Int
    let version: Int
  }

  private struct State {
    var resume: ResumeState
    var version = 0
    var requests = 0
    /// How much had arrived when the state was saved.
    var saved = 0
    var lastSource: URL?
  }

  /// A smaller part of a file is not worth a file of its own to go on from.
  private static let saveInterval = 1 << 20

  let file: Download
  let part: any Part
  /// Whether what is here may be continued without asking whether the file has changed: because a
  /// checksum will tell, or because the user says so.
  private let isTrusted: Bool
  private let state: Mutex<State>

  init(_ file: Download, _ part: any Part) {
    self.file = file
    self.part = part
    let resume = part.leftover ?? ResumeState()
    isTrusted = file.checksum != nil || (part.leftover != nil && resume.validator == nil)
    state = Mutex(State(resume: resume, saved: resume.received))
  }

  var received: Int { state.withLock { $0.resume.received } }
  var size: Int? { state.withLock { $0.resume.size } }
  var requests: Int { state.withLock { $0.requests } }
  var source: URL? { state.withLock { $0.lastSource } }

  /// What is missing.
  var claims: [Claim] {
    state.withLock { state in
      state.resume.segments.filter { !$0.isComplete }
        .map { Claim(start: $0.start, version: state.version) }
    }
  }

  /// Divides what is missing among `count` connections, if parts of the file can be told to be parts
  /// of the same file.
  func split(into count: Int, minimum: Int) {
    state.withLock { state in
      guard isTrusted || state.resume.validator != nil else { return }
      state.resume.split(into: count, minimum: minimum)
    }
  }

  /// The header fields that ask for what is missing of a segment.
  func headers(for claim: Claim) throws -> [String: String] {
    try state.withLock { state in
      let segment = try Self.segment(state, claim)
      state.requests += 1
      let isWhole =
        segment.position == 0 && (segment.end == nil || segment.end == state.resume.size)
      if isWhole { return [:] }
      guard isTrusted || state.resume.validator != nil else { throw Changed() }
      let last = segment.end.map { "\($0 - 1)" } ?? ""
      var headers = ["Range": "bytes=\(segment.position)-\(last)"]
      // Mirrors have entity tags of their own; a checksum tells more than those.
      if file.checksum == nil || file.mirrors.count == 1 {
        headers["If-Range"] = state.resume.validator?.ifRange
      }
      return headers
    }
  }

  /// Checks that an answer continues what is here, and starts over if it is another file.
  ///
  /// - Returns: The segment that the body belongs to; nil if nothing was missing.
  func accept(_ head: AnswerHead, for claim: Claim) throws -> Claim? {
    let validator = Validator(
      entityTag: head.headers["etag"], lastModified: head.headers["last-modified"])
    let range = head.headers["content-range"].flatMap(ContentRange.init)
    return try state.withLock { state in
      let segment = try Self.segment(state, claim)
      state.lastSource = head.url
      switch head.status {
      case 206:
        guard let range, let first = range.range?.lowerBound, first == segment.position else {
          throw BadAnswer(description: "the server sent another part than the one it was asked for")
        }
        guard let size = range.size, state.resume.size ?? size == size else { throw Changed() }
        if file.checksum == nil, let old = state.resume.validator, let new = validator,
          !old.agrees(with: new)
        {
          throw Changed()
        }
        state.resume.size = size
        try Self.setEnd(&state, claim, size)
        state.resume.validator = state.resume.validator ?? validator
      case 416:
        guard let size = range?.size, size == segment.position else { throw Changed() }
        state.resume.size = size
        try Self.setEnd(&state, claim, size)
        return nil
      default:
        // The whole file, whether that was asked for or not.
        if let size = state.resume.size, state.resume.segments.count > 1, size == head.length,
          segment.position == 0
        {
          return claim
        }
        guard state.resume.segments.count == 1 else { throw Changed() }
        if segment.position > 0 {
          try part.restart()
          state.version += 1
        }
        state.resume = ResumeState()
        state.resume.size = head.length
        state.resume.segments[0].end = head.length
        state.resume.validator = validator
        state.saved = 0
      }
      return Claim(start: claim.start, version: state.version)
    }
  }

  /// Writes what has arrived of a segment.
  func write(_ bytes: UnsafeRawBufferPointer, _ claim: Claim) throws {
    try state.withLock { state in
      let index = try Self.index(state, claim)
      let segment = state.resume.segments[index]
      let room = (segment.end ?? .max) - segment.position
      let fitting = UnsafeRawBufferPointer(rebasing: bytes.prefix(room))
      try part.write(fitting, at: segment.position)
      state.resume.segments[index].position += fitting.count
      if state.resume.received >= state.saved + Self.saveInterval { try save(&state) }
      if bytes.count > room { throw EndOfSegment() }
    }
  }

  private func save(_ state: inout State) throws {
    guard state.resume.validator != nil || file.checksum != nil, state.resume.size != nil else {
      return
    }
    try part.save(state.resume)
    state.saved = state.resume.received
  }

  /// Notes that the body of a segment has ended; throws if that was too early.
  func finish(_ claim: Claim) throws {
    try state.withLock { state in
      let index = try Self.index(state, claim)
      let segment = state.resume.segments[index]
      if segment.end == nil {
        state.resume.segments[index].end = segment.position
        state.resume.size = segment.position
      } else if !segment.isComplete {
        throw ConnectionFailure("the connection was closed before the end of the file")
      }
    }
  }

  /// Throws if the file is not the one that was promised.
  func verify() throws {
    guard let expected = file.checksum else { return }
    let actual = try part.checksum(expected.algorithm)
    guard actual == expected else { throw ChecksumMismatch(expected: expected, actual: actual) }
  }

  /// Forgets all that has arrived.
  func restart() throws {
    try state.withLock { state in
      try part.restart()
      state.version += 1
      state.resume = ResumeState()
      state.saved = 0
    }
  }

  private static func index(_ state: State, _ claim: Claim) throws -> Int {
    let index = state.resume.segments.firstIndex { $0.start == claim.start }
    guard let index, state.version == claim.version else { throw Changed() }
    return index
  }

  private static func segment(_ state: State, _ claim: Claim) throws -> Segment {
    state.resume.segments[try index(state, claim)]
  }

  private static func setEnd(_ state: inout State, _ claim: Claim, _ size: Int) throws {
    let index = try index(state, claim)
    if state.resume.segments[index].end == nil { state.resume.segments[index].end = size }
  }
}

/// One file to download.
public struct Download: Sendable {
  /// The file name.
  public var name: String
  /// Who serves it.
  public var mirrors: [URL]
  /// What its checksum must be, if that is known.
  public var checksum: Checksum?

  /// Creates a download.
  public init(name: String, mirrors: [URL], checksum: Checksum? = nil) {
    self.name = name
    self.mirrors = mirrors
    self.checksum = checksum
  }
}
