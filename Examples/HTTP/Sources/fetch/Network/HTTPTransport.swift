import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import class NIOPosix.MultiThreadedEventLoopGroup
import NIOSSL
import Pledge
import PledgeAsyncHTTPClient
import PledgeNIO
import Synchronization

/// A transport that wraps AsyncHTTPClient in promises.
///
/// The event loop that receives bytes passes them on before it reads more, so memory use is bounded
/// by the number of connections.
final class HTTPTransport: Transport {
  /// The event loop of all connections.
  fileprivate static let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

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

  /// Creates a transport; `certificates` is a PEM file with the certificates to trust instead of
  /// those of the system.
  init(proxies: Proxies, connectionsPerHost: Int, certificates: String? = nil) {
    (self.proxies, self.connectionsPerHost) = (proxies, connectionsPerHost)
    self.certificates = certificates
  }

  /// Returns whether a file contains a certificate in the PEM format.
  static func hasCertificates(_ path: String) -> Bool {
    (try? NIOSSLCertificate.fromPEMFile(path).isEmpty == false) ?? false
  }

  func get(_ url: URL, headers: [String: String]) -> Promise<any Answer> {
    let proxy = proxies.server(for: url)
    let errors = ConnectionErrors(url: url, proxy: proxy)
    // AsyncHTTPClient would request another file.
    guard url.hasUTF8Path else {
      return .rejected(
        ConnectionFailure("the path \(url.path()) is not UTF-8 text", isTransient: false))
    }
    var fields = HTTPHeaders(headers.map { ($0, $1) })
    if !fields.contains(name: "User-Agent") { fields.add(name: "User-Agent", value: "fetch") }
    let request: HTTPClient.Request
    do { request = try HTTPClient.Request(url: url, headers: fields) } catch {
      return .rejected(ConnectionFailure("\(error)", isTransient: false))
    }
    // A download that is being cancelled can still send a request.
    guard let client = client(for: proxy) else { return .rejected(CancellationError()) }
    let (head, resolver) = Promise<HTTPResponseHead>.withResolvers()
    let (receiver, begin) = Promise<Receiver>.withResolvers()
    // If the request fails first, no body is requested.
    receiver.ignoreErrors()
    let response = client.stream(request) { head in
      resolver.fulfill(head)
    } to: { bytes in
      // Usually, the body has been requested by now; otherwise, the server has to wait.
      receiver.map(on: .immediate) { receive in
        do { try bytes.withUnsafeReadableBytes(receive) } catch {
          throw ReceiverError(error: error)
        }
      }
    }
    let end = response.mapResult(on: .immediate) { result -> Void in
      do { _ = try result.get() } catch { throw errors.explained(error) }
    }
    end.catch(on: .immediate) { error in resolver.reject(error) }
    resolver.onCancel { end.cancel() }
    return head.map(on: .immediate) { head in
      NetworkAnswer(
        head: AnswerHead(url: url, status: Int(head.status.code), headers: head.headers),
        begin: begin, end: end)
    }
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
    !absoluteString.utf8.contains(UInt8(ascii: "%"))
      || path(percentEncoded: true).removingPercentEncoding != nil
  }
}

/// An error of a receiver, and not of the connection.
struct ReceiverError: Error { let error: any Error }

/// A response whose body is delayed until it is requested.
private final class NetworkAnswer: Answer {
  let head: AnswerHead
  /// Receives the closure to which the body is passed.
  private let begin: Resolver<Receiver>
  private let end: Promise<Void>
  private let isTaken = Atomic(false)

  init(head: AnswerHead, begin: Resolver<Receiver>, end: Promise<Void>) {
    (self.head, self.begin, self.end) = (head, begin, end)
  }

  deinit { if !isTaken.load(ordering: .acquiring) { end.cancel() } }

  func body(_ receive: @escaping Receiver) -> Promise<Void> {
    isTaken.store(true, ordering: .releasing)
    // Pieces arrive on the loop, also the one that may be here already.
    let loop = HTTPTransport.loop
    if loop.inEventLoop {
      begin.fulfill(receive)
    } else {
      loop.execute { [begin] in begin.fulfill(receive) }
    }
    return end
  }
}
