import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Pledge
import PledgeGRPC
import Synchronization

/// A worker as its coordinator sees it.
final class Worker: Sendable {
  /// How long a worker that can't be reached gets no more files, if there are others.
  private static let rest = Duration.milliseconds(300)
  /// How long one file may take.
  private static let limit = Duration.seconds(60)

  let address: Address
  private let peer: Peer<HTTP2ClientTransport.Posix>
  private let limiter: Limiter
  private let restsUntil = Mutex<ContinuousClock.Instant?>(nil)

  /// Creates a worker that is given at most `files` files at a time.
  init(_ address: Address, files: Int) throws {
    self.address = address
    limiter = Limiter(files)
    var connection = HTTP2ClientTransport.Config.Connection.defaults
    // A host that vanishes closes no connection: it is found out by its silence.
    connection.keepalive = .init(time: .seconds(2), timeout: .seconds(2), allowWithoutCalls: false)
    let client = GRPCClient(
      transport: try .http2NIOPosix(
        target: .dns(host: address.host, port: address.port), transportSecurity: .plaintext,
        config: .defaults { config in
          config.connection = connection
          config.backoff = .init(
            initial: .milliseconds(100), max: .seconds(1), multiplier: 1.6, jitter: 0.2)
        }))
    peer = Peer("worker \(address)", client)
  }

  /// Keeps the connection until the promise is cancelled.
  func connect() -> Promise<Void> { Promise { [peer] in try await peer.client.runConnections() } }

  /// Downloads `file` into `folder`, and returns its size.
  ///
  /// The file gets its name once it is complete and has the right checksum.
  func fetch(_ file: ListedFile, into folder: URL) -> Promise<Int> {
    limiter.run { [peer] in
      Promise.using(
        Promise(on: .global) { try ArrivingFile(folder.appendingPathComponent(file.name)) },
        release: { $0.discard() }
      ) { arriving in
        peer.stream(Download.method, Download.Order(url: file.url), within: Self.limit) { part in
          Promise(on: .global) { try arriving.write(part) }
        }
        .map(on: .global) { try arriving.finish(expecting: file.sha256) }
      }
    }
    .tap(on: .immediate) { result in
      if result.isUnavailable { self.beginRest() }
    }
  }

  /// How busy it is: the one with the lowest number gets the next file.
  var load: Int { limiter.runningCount + limiter.waitingCount }

  var isResting: Bool { restsUntil.withLock { until in until.map { $0 > .now } ?? false } }

  private func beginRest() { restsUntil.withLock { $0 = .now + Self.rest } }
}

extension Result {
  /// Whether a call failed because its server can't be reached, or went away.
  var isUnavailable: Bool {
    if case .failure(let error) = self { return (error as? RPCError)?.code == .unavailable }
    return false
  }
}
