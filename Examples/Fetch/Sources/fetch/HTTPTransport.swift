import AsyncHTTPClient
import FetchEngine
import Foundation
import NIOCore
import NIOHTTP1
import class NIOPosix.MultiThreadedEventLoopGroup
import NIOSSL
import Pledge
import Synchronization

/// A transport that wraps AsyncHTTPClient in promises.
///
/// The event loop that receives bytes passes them on before it reads more, so memory use is bounded
/// by the number of connections.
final class HTTPTransport: Transport {
  /// An event loop with separate connections, so that it never waits for the other loop.
  fileprivate final class Lane: Sendable {
    let loop: any EventLoop
    /// The number of requests that are in progress.
    let requests = Atomic(0)
    /// The HTTP clients, by route; nil after the shutdown.
    let clients = Mutex<[Proxies.Route: HTTPClient]?>([:])

    init(_ loop: any EventLoop) { self.loop = loop }
  }

  private static let threads = MultiThreadedEventLoopGroup(
    numberOfThreads: min(2, System.coreCount))

  /// The sizes of the buffers that connections read into.
  ///
  /// With the default of at most 64 KiB, a large file takes four times as many passes through the
  /// client, and with the default minimum, a small response often takes two.
  private static let receiveBuffers = AdaptiveRecvByteBufferAllocator(
    minimum: 16 << 10, initial: 16 << 10, maximum: 256 << 10)

  private let lanes: [Lane]
  private let proxies: Proxies
  private let connectTimeout: Duration
  private let connectionsPerHost: Int
  private let certificates: String?

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - proxies: The proxies for requests.
  ///   - connectTimeout: The maximum time to establish a connection.
  ///   - connectionsPerHost: The maximum number of connections to a host, for each event loop.
  ///   - certificates: A PEM file with the certificates to trust instead of those of the system.
  init(
    proxies: Proxies, connectTimeout: Duration, connectionsPerHost: Int, certificates: String? = nil
  ) {
    lanes = Self.threads.makeIterator().map { Lane($0) }
    self.proxies = proxies
    self.connectTimeout = connectTimeout
    self.connectionsPerHost = connectionsPerHost
    self.certificates = certificates
  }

  /// Returns whether a file contains a certificate in the PEM format.
  static func hasCertificates(_ path: String) -> Bool {
    (try? NIOSSLCertificate.fromPEMFile(path).isEmpty == false) ?? false
  }

  func get(_ url: URL, headers: [String: String]) -> Promise<any Answer> {
    let route = proxies.route(to: url)
    var fields = HTTPHeaders(headers.map { ($0, $1) })
    if !fields.contains(name: "User-Agent") { fields.add(name: "User-Agent", value: "fetch") }
    var target = url
    if case .forwarded(let server) = route {
      target = server.address(for: url)
      fields.replaceOrAdd(name: "Host", value: url.authority)
      if let credentials = server.credentials {
        fields.add(name: "Proxy-Authorization", value: credentials)
      }
    }
    if let target = RequestTargets.undecodable(url) {
      fields.add(name: RequestTargets.field, value: target)
    }
    let request: HTTPClient.Request
    do {
      request = try HTTPClient.Request(url: target, headers: fields)
    } catch {
      return .rejected(ConnectionFailure("\(error)", isTransient: false))
    }
    let lane = lane()
    // A download that is being cancelled can still send a request.
    guard let client = client(of: lane, for: route) else { return .rejected(CancellationError()) }
    let (promise, resolver) = Promise<any Answer>.withResolvers()
    let exchange = Exchange(url: url, lane: lane, resolver: resolver)
    let task = client.execute(request: request, delegate: exchange)
    resolver.onCancel { task.cancel() }
    return promise
  }

  /// Closes all connections; later requests are rejected.
  func shutdown() async throws {
    for lane in lanes {
      let clients = lane.clients.withLock { $0.take() }
      for client in (clients ?? [:]).values { try await client.shutdown() }
    }
  }

  /// Returns the lane for a request.
  ///
  /// Unless the other event loop has much less to do, the loop that completes a file also starts
  /// the next one, because switching threads takes longer.
  private func lane() -> Lane {
    let idlest = lanes.min {
      $0.requests.load(ordering: .relaxed) < $1.requests.load(ordering: .relaxed)
    }
    guard let idlest else { preconditionFailure("there is no thread") }
    guard let own = lanes.first(where: { $0.loop.inEventLoop }) else { return idlest }
    let difference =
      own.requests.load(ordering: .relaxed) - idlest.requests.load(ordering: .relaxed)
    return difference < 2 ? own : idlest
  }

  private func client(of lane: Lane, for route: Proxies.Route) -> HTTPClient? {
    lane.clients.withLock { clients in
      guard clients != nil else { return nil }
      if let client = clients?[route] { return client }
      let client = HTTPClient(
        eventLoopGroupProvider: .shared(lane.loop), configuration: configuration(for: route))
      clients?[route] = client
      return client
    }
  }

  private func configuration(for route: Proxies.Route) -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow,
      timeout: .init(connect: .nanoseconds(connectTimeout.nanoseconds)),
      connectionPool: .init(
        idleTimeout: .seconds(30), concurrentHTTP1ConnectionsPerHostSoftLimit: connectionsPerHost),
      decompression: .disabled)
    configuration.connectionPool.retryConnectionEstablishment = false
    // Without a tracer, no spans are created; nothing would record them.
    configuration.tracing.tracer = nil
    // Each segment needs a separate connection.
    configuration.httpVersion = .http1Only
    var isForwarded = false
    var tls = TLSConfiguration.makeClientConfiguration()
    // A server that has stopped responding must not delay the end of the program.
    tls.shutdownTimeout = .zero
    if let certificates { tls.trustRoots = .file(certificates) }
    configuration.tlsConfiguration = tls
    switch route {
    case .direct: break
    case .tunneled(let proxy): configuration.proxy = proxy
    case .forwarded: isForwarded = true
    }
    configuration.http1_1ConnectionDebugInitializer = { [isForwarded] channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.syncOptions?.setOption(.recvAllocator, value: Self.receiveBuffers)
        try RequestTargets.install(in: channel, isForwarded: isForwarded)
        try ResponseStatuses.install(in: channel)
      }
    }
    return configuration
  }
}

extension Proxies.Server {
  /// Returns the URL to which a request for `url` is sent.
  fileprivate func address(for url: URL) -> URL {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return url }
    parts.host = host
    parts.port = port
    return parts.url ?? url
  }

  fileprivate var credentials: String? {
    user.map { "Basic " + Data("\($0):\(password ?? "")".utf8).base64EncodedString() }
  }
}

extension URL {
  /// The host and port, in the format of the `Host` header field.
  fileprivate var authority: String {
    let host = host() ?? ""
    return (host.contains(":") ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "")
  }
}

extension Duration {
  fileprivate var nanoseconds: Int64 {
    components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
  }
}

/// A request and its response: the delegate that the client's event loop calls.
private final class Exchange: HTTPClientResponseDelegate {
  typealias Response = Void

  private struct State {
    /// Nil once the request is no longer in progress.
    var lane: HTTPTransport.Lane?
    /// The resolver of the head; nil after it has arrived.
    var head: Resolver<any Answer>?
    /// The promise that delays the body until it is requested.
    var gate: EventLoopPromise<Void>?
    /// Whether the body was requested.
    var isBegun = false
    /// Whether the response was deallocated before its body was requested.
    var isDropped = false
    var receive: (@Sendable (UnsafeRawBufferPointer) throws -> Void)?
    var body: Resolver<Void>?
    /// The error with which the request failed, or that `receive` threw.
    var failure: (any Error)?

    mutating func leaveLane() { lane.take()?.requests.subtract(1, ordering: .relaxed) }
  }

  private let url: URL
  private let state: Mutex<State>

  init(url: URL, lane: HTTPTransport.Lane, resolver: Resolver<any Answer>) {
    self.url = url
    state = Mutex(State(lane: lane, head: resolver))
    lane.requests.add(1, ordering: .relaxed)
  }

  deinit { state.withLock { $0.leaveLane() } }

  func didReceiveHead(
    task: HTTPClient.Task<Void>, _ head: HTTPResponseHead
  ) -> EventLoopFuture<Void> {
    let headers = HeaderFields(head.headers.map { ($0.name, $0.value) })
    let resolver = state.withLock { $0.head.take() }
    resolver?.fulfill(
      NetworkAnswer(
        head: AnswerHead(url: url, status: Int(head.status.code), headers: headers),
        exchange: self, task: task))
    // Usually the handlers have requested the body by now.
    return state.withLock { state in
      if state.isDropped { return task.eventLoop.makeFailedFuture(CancellationError()) }
      if state.isBegun { return task.eventLoop.makeSucceededVoidFuture() }
      let gate = task.eventLoop.makePromise(of: Void.self)
      state.gate = gate
      return gate.futureResult
    }
  }

  func didReceiveBodyPart(
    task: HTTPClient.Task<Void>, _ buffer: ByteBuffer
  ) -> EventLoopFuture<Void> {
    let receive = state.withLock { $0.receive }
    do {
      try buffer.withUnsafeReadableBytes { try receive?($0) }
      return task.eventLoop.makeSucceededVoidFuture()
    } catch {
      state.withLock { $0.failure = error }
      return task.eventLoop.makeFailedFuture(error)
    }
  }

  func didFinishRequest(task: HTTPClient.Task<Void>) throws {
    let body = state.withLock { state in
      // The lane must be updated before the chain starts the next request.
      state.leaveLane()
      state.receive = nil
      return state.body.take()
    }
    body?.fulfill()
  }

  func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
    let (head, body, gate, failure) = state.withLock { state in
      state.failure = state.failure ?? explained(error)
      state.leaveLane()
      state.receive = nil
      return (state.head.take(), state.body.take(), state.gate.take(), state.failure)
    }
    guard let failure else { return }
    gate?.fail(failure)
    head?.reject(failure)
    body?.reject(failure)
  }

  /// Starts the body.
  func begin(
    _ receive: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void, _ body: Resolver<Void>
  ) {
    let (gate, failure) = state.withLock { state in
      guard state.failure == nil else { return (nil as EventLoopPromise<Void>?, state.failure) }
      state.receive = receive
      state.body = body
      state.isBegun = true
      return (state.gate.take(), nil)
    }
    if let failure { body.reject(failure) }
    gate?.succeed()
  }

  /// Discards the body.
  func drop() {
    let gate = state.withLock { state in
      state.isDropped = true
      return state.gate.take()
    }
    gate?.fail(CancellationError())
  }
}

/// A response whose body is delayed until it is requested.
private final class NetworkAnswer: Answer {
  let head: AnswerHead
  private let exchange: Exchange
  private let task: HTTPClient.Task<Void>
  private let isTaken = Atomic(false)

  init(head: AnswerHead, exchange: Exchange, task: HTTPClient.Task<Void>) {
    self.head = head
    self.exchange = exchange
    self.task = task
  }

  deinit {
    guard !isTaken.load(ordering: .acquiring) else { return }
    task.cancel()
    exchange.drop()
  }

  func body(
    _ receive: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) -> Promise<Void> {
    isTaken.store(true, ordering: .releasing)
    let (promise, resolver) = Promise<Void>.withResolvers()
    resolver.onCancel { [task] in task.cancel() }
    exchange.begin(receive, resolver)
    return promise
  }
}
