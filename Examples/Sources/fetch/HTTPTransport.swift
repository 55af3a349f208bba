import AsyncHTTPClient
import FetchEngine
import Foundation
import NIOCore
import NIOHTTP1
import Pledge
import Synchronization

/// AsyncHTTPClient as promises.
///
/// What it receives is written by the thread that receives it, and nothing more is read while that
/// lasts: memory is bounded by the number of connections.
final class HTTPTransport: Transport {
  private let proxies: Proxies
  private let connectTimeout: Duration
  private let connectionsPerHost: Int
  private let clients = Mutex<[HTTPClient.Configuration.Proxy?: HTTPClient]>([:])

  init(proxies: Proxies, connectTimeout: Duration, connectionsPerHost: Int) {
    self.proxies = proxies
    self.connectTimeout = connectTimeout
    self.connectionsPerHost = connectionsPerHost
  }

  func get(_ url: URL, headers: [String: String]) -> Promise<any Answer> {
    let request: HTTPClient.Request
    do {
      request = try HTTPClient.Request(
        url: url, headers: HTTPHeaders([("User-Agent", "fetch")] + headers.map { ($0, $1) }))
    } catch {
      return .rejected(ConnectionFailure("\(error)", isTransient: false))
    }
    let (promise, resolver) = Promise<any Answer>.withResolvers()
    let exchange = Exchange(url: url, resolver: resolver)
    let task = client(for: url).execute(request: request, delegate: exchange)
    resolver.onCancel { task.cancel() }
    return promise
  }

  /// Closes all connections.
  func shutdown() async throws {
    let clients = clients.withLock { clients in
      defer { clients = [:] }
      return clients.values
    }
    for client in clients { try await client.shutdown() }
  }

  private func client(for url: URL) -> HTTPClient {
    let proxy = proxies.proxy(for: url)
    return clients.withLock { clients in
      if let client = clients[proxy] { return client }
      var configuration = HTTPClient.Configuration(
        redirectConfiguration: .disallow,
        timeout: .init(connect: .nanoseconds(connectTimeout.nanoseconds)),
        connectionPool: .init(
          idleTimeout: .seconds(30), concurrentHTTP1ConnectionsPerHostSoftLimit: connectionsPerHost),
        proxy: proxy, decompression: .disabled)
      configuration.connectionPool.retryConnectionEstablishment = false
      // Several connections, one for each segment.
      configuration.httpVersion = .http1Only
      let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
      clients[proxy] = client
      return client
    }
  }
}

extension Duration {
  fileprivate var nanoseconds: Int64 {
    components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
  }
}

/// One request and its answer, as the client's event loop tells of them.
private final class Exchange: HTTPClientResponseDelegate {
  typealias Response = Void

  private struct State {
    /// Settles the head until that has arrived.
    var head: Resolver<any Answer>?
    /// Holds the body back until it is requested.
    var gate: EventLoopPromise<Void>?
    var receive: (@Sendable (UnsafeRawBufferPointer) throws -> Void)?
    var body: Resolver<Void>?
    /// Why it ended before the body was asked for, or because of `receive`.
    var failure: (any Error)?
  }

  private let url: URL
  private let state: Mutex<State>

  init(url: URL, resolver: Resolver<any Answer>) {
    self.url = url
    state = Mutex(State(head: resolver))
  }

  func didReceiveHead(
    task: HTTPClient.Task<Void>, _ head: HTTPResponseHead
  ) -> EventLoopFuture<Void> {
    var headers: [String: String] = [:]
    for (name, value) in head.headers { headers[name.lowercased()] = value }
    let gate = task.eventLoop.makePromise(of: Void.self)
    let resolver = state.withLock { state in
      state.gate = gate
      return state.head.take()
    }
    resolver?.fulfill(
      NetworkAnswer(
        head: AnswerHead(url: url, status: Int(head.status.code), headers: headers),
        exchange: self, task: task))
    return gate.futureResult
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
      state.failure = state.failure ?? explained(error)
      state.receive = nil
      return (state.head.take(), state.body.take(), state.gate.take(), state.failure)
    }
    guard let failure else { return }
    gate?.fail(failure)
    head?.reject(failure)
    body?.reject(failure)
  }

  /// Opens the gate.
  func begin(
    _ receive: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void, _ body: Resolver<Void>
  ) {
    let (gate, failure) = state.withLock { state in
      guard state.failure == nil else { return (nil as EventLoopPromise<Void>?, state.failure) }
      state.receive = receive
      state.body = body
      return (state.gate.take(), nil)
    }
    if let failure { body.reject(failure) }
    gate?.succeed()
  }

  /// The body isn't wanted.
  func drop() {
    state.withLock { $0.gate.take() }?.fail(CancellationError())
  }
}

/// An answer whose body waits behind the gate of its exchange.
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
