import FetchSupport
import Foundation
import Pledge
import PledgeFoundation
import Synchronization

/// The policies of a ``Downloader``.
public struct Options: Sendable {
  /// The maximum number of files that are downloaded at the same time.
  public var concurrency = 8
  /// The maximum number of connections for one file.
  public var split = 1
  /// The maximum number of connections to each host, for all files together; nil for no limit.
  public var connectionsPerHost: Int?
  /// The minimum size of a segment when a file is divided, in bytes.
  public var minimumSegment = 4 << 20
  /// The number of attempts and the delays between them.
  public var policy = RetryPolicy.exponential(
    attempts: 7, from: .milliseconds(100), factor: 3, maximum: .seconds(30)
  ).withJitter().honoringRetryAfter()
  /// The time after which a connection that receives nothing is closed.
  public var stall: Duration = .seconds(30)
  /// The delay before each additional mirror is tried.
  public var headStart: Duration = .milliseconds(300)
  /// The header fields to send with requests.
  public var settings = RequestSettings()

  /// Creates the default policies.
  public init() {}
}

/// An event during a download.
public enum Event: Sendable {
  /// A response for a file has arrived: the number of bytes that are present, and the size of the
  /// file, if it is known.
  case started(Download, received: Int, size: Int?)
  /// A number of bytes have arrived.
  case received(Download, Int)
  /// The next attempt starts after this delay.
  case waiting(Download, Duration, because: any Error, askedByServer: Bool)
  /// The download has ended.
  case ended(Outcome)
}

/// A complete file under its final name.
public struct Saved: Sendable {
  /// The file.
  public let file: Download
  /// The URL of the last response; nil if the file already existed.
  public let source: URL?
  /// The size of the file, in bytes.
  public let byteCount: Int
  /// The number of requests that were sent.
  public let requests: Int
}

/// The outcome of a download.
public enum Outcome: Sendable {
  /// The file is complete.
  case saved(Saved, time: Duration)
  /// The download failed.
  case failed(Download, any Error, time: Duration)

  /// Whether the download failed.
  public var isFailure: Bool { if case .failed = self { true } else { false } }
}

/// The number of bytes that a connection has received, and the time of the last ones.
final class Meter: Sendable {
  private struct State {
    var count = 0
    var last: Duration
    var isBusy = false
  }

  let start: Duration
  private let state: Mutex<State>

  init(_ now: Duration) {
    start = now
    state = Mutex(State(last: now))
  }

  var count: Int { state.withLock { $0.count } }

  /// The time without data until `now`: zero while data are being written, however long that takes.
  func silence(until now: Duration) -> Duration {
    state.withLock { $0.isBusy ? .zero : now - $0.last }
  }

  /// Runs `body`, which writes `count` bytes that have arrived.
  func receive(_ count: Int, now: () -> Duration, _ body: () throws -> Void) rethrows {
    state.withLock { $0.isBusy = true }
    defer {
      let now = now()
      state.withLock { state in
        state.count += count
        (state.last, state.isBusy) = (now, false)
      }
    }
    try body()
  }
}

/// A value that only one of several callers can take.
final class Handover<Value: Sendable>: Sendable {
  private let value: Mutex<Value?>

  init(_ value: Value) { self.value = Mutex(value) }

  func take() -> Value? { value.withLock { $0.take() } }
}
