import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Pledge
import PledgeGRPC
import Synchronization

/// The coordinator's representation of a worker.
final class Worker: Sendable {
  /// The time for which a worker receives no files after a failure, if other workers are available;
  /// doubled after each further failure.
  private static let rest = Duration.milliseconds(300)
  private static let longestRest = Duration.seconds(30)
  /// The time limit of one attempt, including the wait for other files.
  private static let limit = Duration.seconds(60)

  let address: Address
  private let peer: Peer<HTTP2ClientTransport.Posix>
  private let limiter: Limiter
  private let health = Mutex(Health())

  /// The failures since the last success.
  private struct Health {
    var failures = 0
    var restsUntil: ContinuousClock.Instant?

    var isResting: Bool { restsUntil.map { $0 > .now } ?? false }

    mutating func noteFailure() {
      // Files that were in progress at the same time fail together.
      guard !isResting else { return }
      failures += 1
      let rest = Worker.rest * (1 << min(failures - 1, 10))
      restsUntil = .now + min(rest, Worker.longestRest)
    }
  }

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
    var options = CallOptions.defaults
    // Without a connection, a call fails, so that another worker can take the file.
    options.waitForReady = false
    return limiter.run { [peer, options] in
      Promise.using(
        Promise(on: .global) { try ArrivingFile(folder.appendingPathComponent(file.name)) },
        release: { $0.discard() }
      ) { arriving in
        peer.stream(
          Download.method, Download.Order(url: file.url), within: Self.limit, options: options
        ) { part in
          Promise(on: .global) { try arriving.write(part) }
        }
        .map(on: .global) { try arriving.finish(expecting: file.sha256) }
      }
    }
    .timeout(after: Self.limit)
    .watch(on: .immediate) { result in
      self.health.withLock { health in
        if result.showsUnreachableWorker { health.noteFailure() } else { health = Health() }
      }
    }
  }

  /// The number of running and waiting files; the worker with the lowest number gets the next file.
  var load: Int { limiter.runningCount + limiter.waitingCount }

  /// The number of failures since the last success if the worker shouldn't receive a file; otherwise
  /// zero.
  ///
  /// After a failure, it receives one file at a time until it has delivered one: a host that can't be
  /// reached may hold each of them until its time limit.
  var unreliability: Int {
    health.withLock { health in health.isResting || load > 0 ? health.failures : 0 }
  }
}

extension Result {
  /// Whether a call failed because its server can't be reached, or its connection ended.
  var isUnavailable: Bool {
    if case .failure(let error) = self { return (error as? RPCError)?.code == .unavailable }
    return false
  }

  /// Whether the worker may be unreachable: its connection failed, or a call had no result in time.
  ///
  /// A call is cancelled if another worker was faster.
  fileprivate var showsUnreachableWorker: Bool {
    switch self {
    case .success: false
    case .failure(is CancellationError), .failure(is TimeoutError): true
    case .failure(let error as RPCError): [.unavailable, .deadlineExceeded].contains(error.code)
    case .failure: false
    }
  }
}
