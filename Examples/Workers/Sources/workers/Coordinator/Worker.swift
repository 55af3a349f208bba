import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Pledge
import PledgeGRPC
import Synchronization

/// The coordinator's representation of a worker.
final class Worker: Sendable {
  /// The time for which an unavailable worker receives no files, if other workers are available.
  private static let rest = Duration.milliseconds(300)
  /// The time limit of one attempt.
  private static let limit = Duration.seconds(60)

  let address: Address
  private let peer: Peer<HTTP2ClientTransport.Posix>
  private let limiter: Limiter
  private let restsUntil = Mutex<ContinuousClock.Instant?>(nil)

  /// Creates a worker that downloads at most `files` files at the same time.
  init(_ address: Address, files: Int) throws {
    self.address = address
    limiter = Limiter(files)
    var connection = HTTP2ClientTransport.Config.Connection.defaults
    // A host that fails doesn't close its connections, so pings detect it.
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

  /// Keeps the connection open until the promise is cancelled.
  func connect() -> Promise<Void> { Promise { [peer] in try await peer.client.runConnections() } }

  /// Downloads `file` into `folder`, and returns its size.
  ///
  /// The file is renamed to its final name when it is complete and has the right checksum.
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

  /// The number of running and waiting files; the worker with the lowest number gets the next file.
  var load: Int { limiter.runningCount + limiter.waitingCount }

  var isResting: Bool { restsUntil.withLock { until in until.map { $0 > .now } ?? false } }

  private func beginRest() { restsUntil.withLock { $0 = .now + Self.rest } }
}

extension Result {
  /// Whether a call failed because its server can't be reached, or its connection ended.
  var isUnavailable: Bool {
    if case .failure(let error) = self { return (error as? RPCError)?.code == .unavailable }
    return false
  }
}
