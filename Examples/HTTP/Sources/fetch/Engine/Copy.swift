import Foundation
import Pledge
import Synchronization

/// All bytes of a segment have arrived, but the server sends more.
struct EndOfSegment: Error {}

/// A file that is being downloaded: which bytes are present, and which responses continue them.
final class Copy: Sendable {
  /// The reasons why none of the bytes that are present can be used.
  enum Failure: String, Error, CustomStringConvertible {
    case changed = "the file has changed on the server"
    case wrongRange = "the server sent a different range than requested"
    case notResumable =
      "the connection broke, and without a strong entity tag or date, the download can't be resumed"

    var description: String { rawValue }
  }

  /// A segment of one version of the file, and the attempt that can write it.
  ///
  /// Responses for other versions or from other attempts are no longer written.
  struct Claim: Sendable {
    let start: Int
    let version: Int
    var attempt = 0
  }

  /// The attempt whose response is written to a segment.
  private struct Turn {
    var attempt: Int
    /// The position after the last byte that the response can contain.
    var end: Int
    var isOpen = true
  }

  private struct State {
    var resume: ResumeState
    /// Whether the part contains exactly what `resume` describes.
    var isBegun = false
    var version = 0
    /// The number of attempts that have begun, for all segments together.
    var attempts = 0
    /// The latest turn of each segment, by the start of the segment.
    var turns: [Int: Turn] = [:]
    /// The number of bytes that had arrived when the state was last saved.
    var saved = 0
    /// The mirrors that sent the bytes that are present; nil represents an earlier run.
    var mirrors: [URL?] = []
    /// The maximum number of bytes that were present since the last restart.
    var mostReceived: Int
    /// Whether the download had to start over.
    var isSuspect = false
    /// The checksum of each wrong file that came from a single mirror.
    var wrongFiles: [URL: Checksum] = [:]

    /// The mirror that sent all bytes that are present; nil if there are several or it is unknown.
    var soleMirror: URL? { mirrors.count == 1 ? mirrors[0] : nil }

    func index(of claim: Claim) throws -> Int {
      let index = resume.segments.firstIndex { $0.start == claim.start }
      guard let index, version == claim.version else { throw Failure.changed }
      return index
    }

    /// Sets the size of the file, which may be the end of a segment.
    mutating func setSize(_ size: Int, at index: Int) {
      resume.size = size
      resume.segments[index].end = resume.segments[index].end ?? size
    }
  }

  /// The number of bytes that must arrive before the state is saved again, and the minimum size of
  /// a file whose state is saved.
  private static let saveInterval = 1 << 20

  let file: Download
  let part: any Part
  private let state: Mutex<State>

  init(_ file: Download, _ part: any Part) {
    (self.file, self.part) = (file, part)
    let resume = part.leftover.flatMap { Self.canContinue($0, file) ? $0 : nil } ?? ResumeState()
    let received = resume.received
    state = Mutex(
      State(
        resume: resume, saved: received, mirrors: received > 0 ? [nil] : [],
        mostReceived: received))
  }

  /// Whether the bytes that an earlier run left can be the start of `file`.
  ///
  /// Without a checksum, they must come from one of its URLs, and the server must be able to
  /// confirm that the file is unchanged. If only the query of the URL has changed, as that of a
  /// signed URL does, a date isn't enough.
  private static func canContinue(_ resume: ResumeState, _ file: Download) -> Bool {
    if file.checksum != nil { return true }
    guard let source = resume.source, let validator = resume.validator else { return false }
    return file.mirrors.contains { mirror in
      let mirror = mirror.withoutCredentials
      return validator.ifRange != nil && mirror.absoluteString == source.absoluteString
        || validator.strongTag != nil && mirror.withoutQuery == source.withoutQuery
    }
  }

  var resume: ResumeState { state.withLock { $0.resume } }
  var received: Int { resume.received }
  /// The maximum number of bytes that were present; grows only if the download makes progress, even
  /// if it starts over without being asked to.
  var mostReceived: Int { state.withLock { $0.mostReceived } }
  /// The mirrors that sent the bytes that are present, as far as they are known.
  var mirrors: [URL] { state.withLock { $0.mirrors.compactMap(\.self) } }
  var soleMirror: URL? { state.withLock { $0.soleMirror } }

  /// The segments that are incomplete.
  var claims: [Claim] {
    state.withLock { state in
      state.resume.segments.filter { !$0.isComplete }
        .map { Claim(start: $0.start, version: state.version) }
    }
  }

  /// Divides the missing bytes among up to `count` connections, if a validator or a checksum
  /// ensures that all parts belong to the same file.
  ///
  /// After a restart, the file isn't divided: a server may ignore ranges although it announces
  /// them, and if one of several mirrors sends wrong bytes, a single source shows which one does.
  func split(into count: Int, minimum: Int) {
    state.withLock { state in
      guard !state.isSuspect, file.checksum != nil || state.resume.validator?.ifRange != nil
      else { return }
      state.resume.split(into: count, minimum: minimum)
    }
  }

  /// Returns the header fields that request the missing bytes of a segment.
  func headers(for claim: Claim) throws -> [String: String] {
    try state.withLock { state in
      let segment = state.resume.segments[try state.index(of: claim)]
      let isWhole =
        segment.position == 0 && (segment.end == nil || segment.end == state.resume.size)
      if isWhole { return [:] }
      let ifRange = state.resume.validator?.ifRange
      // A checksum detects a change.
      guard file.checksum != nil || ifRange != nil || state.resume.received == 0
      else { throw Failure.notResumable }
      let last = segment.end.map { "\($0 - 1)" } ?? ""
      var headers = ["Range": "bytes=\(segment.position)-\(last)"]
      // Entity tags differ between mirrors; a checksum is more reliable.
      if file.checksum == nil || file.mirrors.count == 1 { headers["If-Range"] = ifRange }
      return headers
    }
  }

  /// Returns the number of a new attempt to fetch a segment; an attempt can send requests to
  /// several mirrors.
  func beginAttempt() -> Int {
    state.withLock { state in
      state.attempts += 1
      return state.attempts
    }
  }

  /// Checks that a response continues the bytes that are present, or starts over if it contains the
  /// whole file.
  ///
  /// Only the first response of an attempt is accepted, and only its body is written. Throws an
  /// error if the response is for a different file.
  ///
  /// - Returns: The segment that the body belongs to; nil if nothing was missing.
  func accept(
    _ head: AnswerHead, from mirror: URL, for claim: Claim, attempt: Int
  ) throws -> Claim? {
    let validator = Validator(
      entityTag: head["ETag"], lastModified: head["Last-Modified"], date: head["Date"])
    let range = head["Content-Range"].flatMap(ContentRange.init)
    let length = head.length
    return try state.withLock { state in
      let index = try state.index(of: claim)
      let segment = state.resume.segments[index]
      if let turn = state.turns[claim.start], turn.attempt >= attempt { throw CancellationError() }
      let old = state.resume.validator
      switch head.status {
      case 206:
        guard let range, let first = range.range?.lowerBound, first == segment.position else {
          // Requesting the whole file instead may succeed.
          guard state.resume.received == 0 else { throw Failure.wrongRange }
          throw BadAnswer(Failure.wrongRange.rawValue)
        }
        // The server contradicts itself.
        guard length == nil || length == range.range?.count else { throw Failure.wrongRange }
        guard let size = range.size, state.resume.size ?? size == size else {
          throw Failure.changed
        }
        try note(validator, from: mirror, isSame: old?.allows(validator) ?? true, &state)
        state.setSize(size, at: index)
      case 416:
        guard let size = range?.size, size == segment.position,
          state.resume.size ?? size == size
        else {
          guard segment.position == 0 else { throw Failure.changed }
          throw BadAnswer("the server refuses to send the file (HTTP status 416)")
        }
        state.setSize(size, at: index)
        return nil
      case _ where state.resume.segments.count > 1:
        // The whole file was not requested, but the segment can be its start.
        guard segment.position == 0, let size = state.resume.size, size == length else {
          throw Failure.changed
        }
        try note(validator, from: mirror, isSame: old?.identifies(validator) ?? false, &state)
      default:
        // The whole file, whether or not it was requested.
        if segment.position > 0 {
          state.version += 1
          state.mirrors = []
        }
        // What is present is removed when the first byte arrives.
        state.isBegun = false
        state.resume = ResumeState()
        state.resume.size = length
        state.resume.segments[0].end = length
        try note(validator, from: mirror, isSame: true, &state)
        state.saved = 0
      }
      if !state.mirrors.contains(mirror) { state.mirrors.append(mirror) }
      let end = head.status == 206 ? range?.range?.upperBound : nil
      state.turns[claim.start] = Turn(attempt: attempt, end: end ?? .max)
      return Claim(start: claim.start, version: state.version, attempt: attempt)
    }
  }

  /// Records the version of the file that a response contains; throws an error if it isn't the
  /// same as before, unless a checksum shows whether the bytes belong together.
  private func note(
    _ validator: Validator?, from mirror: URL, isSame: Bool, _ state: inout State
  ) throws {
    if state.resume.source == nil {
      state.resume.source = mirror.withoutCredentials
      state.resume.validator = validator
    } else if !isSame {
      guard file.checksum != nil else { throw Failure.changed }
      // No validator describes bytes of several versions.
      state.resume.validator = nil
    }
  }

  /// Ends the turn of a response: bytes that arrive later aren't written.
  ///
  /// When this returns, no write is in progress, so the position at which the next attempt
  /// continues is final.
  func end(_ claim: Claim) {
    state.withLock { state in
      if state.turns[claim.start]?.attempt == claim.attempt {
        state.turns[claim.start]?.isOpen = false
      }
    }
  }

  /// Writes bytes of a segment that have arrived.
  func write(_ bytes: UnsafeRawBufferPointer, _ claim: Claim) throws {
    try state.withLock { state in
      let index = try state.index(of: claim)
      guard let turn = state.turns[claim.start], turn.isOpen, turn.attempt == claim.attempt else {
        throw CancellationError()
      }
      let segment = state.resume.segments[index]
      guard segment.position + bytes.count <= turn.end else { throw Failure.wrongRange }
      try begin(&state)
      let room = (segment.end ?? .max) - segment.position
      let fitting = UnsafeRawBufferPointer(rebasing: bytes.prefix(room))
      try part.write(fitting, at: segment.position)
      state.resume.segments[index].position += fitting.count
      state.mostReceived = max(state.mostReceived, state.resume.received)
      try save(&state)
      if bytes.count > room { throw EndOfSegment() }
    }
  }

  /// Makes the part contain exactly what the state describes.
  private func begin(_ state: inout State) throws {
    guard !state.isBegun else { return }
    try part.begin(state.resume)
    state.isBegun = true
  }

  /// Prepares a complete file for its final name, even if no byte had to arrive.
  func complete() throws { try state.withLock { try begin(&$0) } }

  /// Saves the state from time to time, and otherwise when the file is closed.
  private func save(_ state: inout State) throws {
    guard let size = state.resume.size, size >= Self.saveInterval,
      file.checksum != nil || state.resume.validator?.ifRange != nil
    else { return }
    guard state.resume.received >= state.saved + Self.saveInterval else {
      return part.keep(state.resume)
    }
    try part.save(state.resume)
    state.saved = state.resume.received
  }

  /// Records that the body of a segment has ended; throws an error if it ended too early.
  func finish(_ claim: Claim) throws {
    try state.withLock { state in
      let index = try state.index(of: claim)
      let segment = state.resume.segments[index]
      if segment.end == nil {
        state.setSize(segment.position, at: index)
      } else if !segment.isComplete {
        throw ConnectionFailure("the connection was closed before the end of the file")
      }
    }
  }

  /// Throws ``ChecksumMismatch`` if the file doesn't have the expected checksum.
  func verify() throws {
    guard let expected = file.checksum else { return }
    try complete()
    let actual = try part.checksum()
    guard actual != expected else { return }
    state.withLock { state in
      if let mirror = state.soleMirror { state.wrongFiles[mirror] = actual }
    }
    throw ChecksumMismatch(expected: expected, actual: actual)
  }

  /// Whether each mirror sent a wrong file with this checksum.
  func isEverywhere(_ checksum: Checksum) -> Bool {
    state.withLock { state in file.mirrors.allSatisfy { state.wrongFiles[$0] == checksum } }
  }

  /// Discards all bytes that have arrived.
  ///
  /// Those of an earlier run stay on the disk until a byte of a good response arrives.
  func restart() throws {
    try state.withLock { state in
      state = State(
        resume: ResumeState(), version: state.version + 1, attempts: state.attempts,
        turns: state.turns, mostReceived: 0, isSuspect: true, wrongFiles: state.wrongFiles)
      try part.restart()
    }
  }
}

extension URL {
  /// The URL without user name, password, and query.
  fileprivate var withoutQuery: String {
    String(withoutCredentials.absoluteString.prefix { $0 != "?" && $0 != "#" })
  }
}
