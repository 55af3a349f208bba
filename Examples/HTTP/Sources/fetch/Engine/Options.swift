import Foundation
import Pledge
import PledgeFoundation

struct Options: Sendable {
  /// The maximum number of files that are downloaded at the same time.
  var concurrency = 8
  /// The maximum number of connections for one file.
  var split = 1
  /// The maximum number of connections to each host, for all files together; nil for no limit.
  var connectionsPerHost: Int?
  /// The minimum size of a segment when a file is divided, in bytes.
  var minimumSegment = 4 << 20
  var policy = RetryPolicy.exponential(
    attempts: 7, from: .milliseconds(100), factor: 3, maximum: .seconds(30)
  ).withJitter().honoringRetryAfter()
  /// The time after which a connection that receives nothing is closed.
  var stall: Duration = .seconds(30)
  /// The delay before each additional mirror is tried.
  var headStart: Duration = .milliseconds(300)
  var settings = RequestSettings()
}

/// One file to download.
///
/// This is a class because each event contains a reference to it.
final class Download: Sendable {
  let name: String
  let mirrors: [URL]
  let checksum: Checksum?

  init(name: String, mirrors: [URL], checksum: Checksum? = nil) {
    (self.name, self.mirrors, self.checksum) = (name, mirrors, checksum)
  }
}

enum Event: Sendable {
  /// A response for a file has arrived: the number of bytes that are present, and the size of the
  /// file, if it is known.
  case started(Download, received: Int, size: Int?)
  /// A number of bytes have arrived.
  case received(Download, Int)
  /// The next attempt starts after this delay.
  case waiting(Download, Duration, because: any Error, askedByServer: Bool)
  /// The download has ended: with the size of the file, or an error.
  case ended(Download, Result<Int, any Error>)
}
