import FetchSupport
import Foundation
import Pledge
import PledgeFoundation
import Synchronization

/// The policies of a ``Downloader``.
public struct Options: Sendable {
  /// How many files are downloaded at the same time.
  public var concurrency = 8
  /// How many connections one file may have.
  public var split = 1
  /// How many connections each host may have, for all files together; nil for any number.
  public var connectionsPerHost: Int?
  /// The smallest part of a file that gets its own connection, in bytes.
  public var minimumSegment = 4 << 20
  /// How often to try again, and after which pauses.
  public var policy = RetryPolicy.exponential(
    attempts: 7, from: .milliseconds(100), maximum: .seconds(5)
  ).withJitter().honoringRetryAfter()
  /// How long nothing may arrive.
  public var stall: Duration = .seconds(30)
  /// How long a further mirror waits for those before it.
  public var headStart: Duration = .milliseconds(300)
  /// What is sent with each request.
  public var settings = RequestSettings()

  /// Creates the usual policies.
  public init() {}
}

/// Where the files of a download go.
public protocol Storage: Sendable {
  /// The size of a file that is there and need not be downloaded; nil if it must be.
  func present(_ file: Download) throws -> Int?
  /// Opens the partial file of that name.
  func open(_ name: String) throws -> any Part
  /// Whether ``commit(_:)`` waits until the disk has the file.
  var isSyncing: Bool { get }
  /// Gives a file that is whole its final name.
  func commit(_ part: any Part) throws
  /// Closes a partial file whose download has ended.
  func close(_ part: any Part)
}

/// What happens while files are downloaded.
public enum Event: Sendable {
  /// A response for a file has arrived; this is how much of the file is here.
  case started(Download, ResumeState)
  /// So many bytes have arrived on the connection for the segment that starts there.
  case received(Download, Int, Int)
  /// The connection for a segment has ended.
  case disconnected(Download, Int)
  /// The next attempt starts after a pause.
  case waiting(Download, Duration, because: any Error, askedByServer: Bool)
  /// The download has ended.
  case ended(Outcome)
}

/// A file that is there, under its own name.
public struct Saved: Sendable {
  /// The file.
  public let file: Download
  /// The address that sent the last bytes; nil if the file was present before.
  public let source: URL?
  /// Its size.
  public let byteCount: Int
  /// How many requests it took.
  public let requests: Int
}

/// How a download ended.
public enum Outcome: Sendable {
  /// The file is complete.
  case saved(Saved, time: Duration)
  /// It was given up.
  case failed(Download, any Error, time: Duration)
}

/// How much one connection has received, and when.
final class Meter: Sendable {
  private struct State {
    var count = 0
    var last: Duration
  }

  let start: Duration
  private let state: Mutex<State>

  init(_ now: Duration) {
    start = now
    state = Mutex(State(last: now))
  }

  var count: Int { state.withLock { $0.count } }
  var last: Duration { state.withLock { $0.last } }

  func add(_ count: Int, at now: Duration) {
    state.withLock { state in
      state.count += count
      state.last = now
    }
  }
}

/// A value that one of several may take.
final class Handover<Value: Sendable>: Sendable {
  private let value: Mutex<Value?>

  init(_ value: Value) { self.value = Mutex(value) }

  func take() -> Value? { value.withLock { $0.take() } }
}
