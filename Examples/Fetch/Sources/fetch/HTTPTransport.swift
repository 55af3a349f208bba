import AsyncHTTPClient
import FetchEngine
import Foundation
import NIOCore
import NIOHTTP1
import class NIOPosix.MultiThreadedEventLoopGroup
import NIOSSL
import Pledge
import PledgeNIO
import Synchronization

/// A transport that wraps AsyncHTTPClient in promises.
///
/// The event loop that receives bytes passes them on before it reads more, so memory use is bounded
/// by the number of connections.
final class HTTPTransport: Transport {
  /// The event loop of all connections.
  private static let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

  /// The executor of the event loop: a file that is complete starts the next one on it without a
  /// change of threads.
  let executor: any PromiseExecutor = TurnExecutor.eventLoop(loop)

  /// The sizes of the buffers that connections read into.
  ///
  /// With the default of at most 64 KiB, a large file takes four times as many passes through the
  /// client, and with the default minimum, a small response often takes two.
  private static let receiveBuffers = AdaptiveRecvByteBufferAllocator(
    minimum: 16 << 10, initial: 16 << 10, maximum: 256 << 10)

  /// The HTTP clients, by proxy; nil after the shutdown.
  private let clients = Mutex<[Proxies.Server?: HTTPClient]?>([:])
  private let proxies: Proxies
  private let connectionsPerHost: Int
  private let certificates: String?

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - proxies: The proxies for requests.
  ///   - connectionsPerHost: The maximum number of connections to a host.
  ///   - certificates: A PEM file with the certificates to trust instead of those of the system.
  init(proxies: Proxies, connectionsPerHost: Int, certificates: String? = nil) {
    self.proxies = proxies
    self.connectionsPerHost = connectionsPerHost
    self.certificates = certificates
  }

  /// Returns whether a file contains a certificate in the PEM format.
  static func hasCertificates(_ path: String) -> Bool {
    (try? NIOSSLCertificate.fromPEMFile(path).isEmpty == false) ?? false
  }

  func get(_ url: URL, headers: [String: String]) -> Promise<any Answer> {
    let proxy = proxies.server(for: url)
    let errors = ConnectionErrors(server: url, proxy: proxy)
    // AsyncHTTPClient would request another file.
    guard url.hasUTF8Path else {
      return .rejected(
        ConnectionFailure("the path \(url.path()) is not UTF-8 text", isTransient: false))
    }
    var fields = HTTPHeaders(headers.map { ($0, $1) })
    if !fields.contains(name: "User-Agent") { fields.add(name: "User-Agent", value: "fetch") }
    let request: HTTPClient.Request
    do {
      request = try HTTPClient.Request(url: url, headers: fields)
    } catch {
      return .rejected(ConnectionFailure("\(error)", isTransient: false))
    }
    // A download that is being cancelled can still send a request.
    guard let client = client(for: proxy) else { return .rejected(CancellationError()) }
    let (promise, resolver) = Promise<any Answer>.withResolvers()
    let exchange = Exchange(url: url, errors: errors, resolver: resolver)
    let task = client.execute(request: request, delegate: exchange)
    resolver.onCancel { task.cancel() }
    return promise
  }

  /// Closes all connections; later requests are rejected.
  func shutdown() async throws {
    let clients = clients.withLock { $0.take() }
    for client in (clients ?? [:]).values { try await client.shutdown() }
  }

  private func client(for proxy: Proxies.Server?) -> HTTPClient? {
    clients.withLock { clients in
      guard clients != nil else { return nil }
      if let client = clients?[proxy] { return client }
      let client = HTTPClient(
        eventLoopGroupProvider: .shared(Self.loop), configuration: configuration(for: proxy))
      clients?[proxy] = client
      return client
    }
  }

  private func configuration(for proxy: Proxies.Server?) -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration(
      redirectConfiguration: .disallow, timeout: .init(connect: .seconds(10)),
      connectionPool: .init(
        idleTimeout: .seconds(30), concurrentHTTP1ConnectionsPerHostSoftLimit: connectionsPerHost),
      proxy: proxy?.tunnel, decompression: .disabled)
    configuration.connectionPool.retryConnectionEstablishment = false
    // Without a tracer, no spans are created; nothing would record them.
    configuration.tracing.tracer = nil
    // Each segment needs a separate connection.
    configuration.httpVersion = .http1Only
    var tls = TLSConfiguration.makeClientConfiguration()
    // A server that has stopped responding must not delay the end of the program.
    tls.shutdownTimeout = .zero
    if let certificates { tls.trustRoots = .file(certificates) }
    configuration.tlsConfiguration = tls
    configuration.http1_1ConnectionDebugInitializer = { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.syncOptions?.setOption(.recvAllocator, value: Self.receiveBuffers)
        try channel.addConnectionChecks()
      }
    }
    return configuration
  }
}

extension URL {
  /// Whether the path without its escapes is UTF-8 text.
  fileprivate var hasUTF8Path: Bool {
    let isPlain = absoluteString.utf8.withContiguousStorageIfAvailable { bytes in
      !bytes.contains(UInt8(ascii: "%"))
    }
    return isPlain == true || path(percentEncoded: true).removingPercentEncoding != nil
  }
}

/// A request and its response: the delegate that the client's event loop calls.
private final class Exchange: HTTPClientResponseDelegate {
  typealias Response = Void

  private struct State {
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
  }

  private let url: URL
  private let errors: ConnectionErrors
  private let state: Mutex<State>

  init(url: URL, errors: ConnectionErrors, resolver: Resolver<any Answer>) {
    self.url = url
    self.errors = errors
    state = Mutex(State(head: resolver))
  }

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
      state.receive = nil
      return state.body.take()
    }
    body?.fulfill()
  }

  func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
    let (head, body, gate, failure) = state.withLock { state in
      state.failure = state.failure ?? errors.explained(error)
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
