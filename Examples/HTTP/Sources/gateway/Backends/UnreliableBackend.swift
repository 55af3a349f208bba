import Foundation
import Hummingbird
import Logging
import Pledge
import Synchronization

/// An HTTP server on a port of this machine that injects faults into its responses.
///
/// A real backend would be a process on another machine. The gateway therefore reaches this one
/// only by its port.
final class UnreliableBackend: Sendable {
  /// A call that has arrived, for tests.
  struct Call: Sendable {
    var number: Int
    var id: Int
    var deadline: Int?
  }

  let name: String
  /// The address of the server, after it has started.
  let address: Promise<String>
  let faults = Mutex(Faults())
  private let hasStarted: Resolver<String>
  private let answer: @Sendable (_ id: Int) -> any Encodable & Sendable
  private let fate: (@Sendable (Call) -> Fate)?
  private let callCount = AtomicCounter()

  /// - Parameters:
  ///   - answer: Returns the body of a response.
  ///   - fate: Determines the fate of a call; nil for a random one according to `faults`.
  init(
    _ name: String, fate: (@Sendable (Call) -> Fate)? = nil,
    answer: @escaping @Sendable (_ id: Int) -> any Encodable & Sendable
  ) {
    (self.name, self.fate, self.answer) = (name, fate, answer)
    (address, hasStarted) = Promise.withResolvers()
  }

  /// The number of calls that have arrived.
  var calls: Int { callCount.value }

  /// Returns the server, as a service that runs until it is shut down.
  func application(logger: Logger) -> some ApplicationProtocol {
    var logger = logger
    logger[metadataKey: "backend"] = "\(name)"
    let router = Router()
    router.add(middleware: RequestLogs(level: .debug))
    router.get("{id}") { [self] request, context in
      try await respond(to: request, id: try context.parameters.require("id", as: Int.self))
    }
    return Application(
      router: router,
      configuration: .init(address: .hostname("127.0.0.1", port: 0), serverName: name),
      onServerRunning: { [hasStarted] channel in
        hasStarted.fulfill("http://127.0.0.1:\(channel.localAddress?.port ?? 0)")
      },
      logger: logger)
  }

  private func respond(to request: Request, id: Int) async throws -> Response {
    let deadline = request.headers[Deadline.header].flatMap { Int($0) }
    let call = Call(number: callCount.increment(), id: id, deadline: deadline)
    var headers: HTTPFields = [.contentType: "application/json"]
    switch fate?(call) ?? faults.withLock({ $0.next() }) {
    case .fail: throw HTTPError(.serviceUnavailable)
    case .answer(let delay):
      if let deadline, delay > .milliseconds(deadline) {
        // The caller doesn't wait that long, so the work would be useless.
        try await wait(.milliseconds(deadline), for: request)
        throw HTTPError(.gatewayTimeout)
      }
      try await wait(delay, for: request)
      if Self.watchesCaller(delay) { headers[.connection] = "close" }
    case .wait(let work):
      try await untilCallerHangsUp(request, work)
      headers[.connection] = "close"
    }
    let body = try JSONEncoder().encode(answer(id))
    return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
  }

  /// Returns whether a response that takes `delay` detects that the caller disconnects.
  ///
  /// Hummingbird closes the connection of a request that detects it, so only slow responses do.
  private static func watchesCaller(_ delay: Duration) -> Bool { delay > .milliseconds(100) }

  private func wait(_ delay: Duration, for request: Request) async throws {
    guard Self.watchesCaller(delay) else { return try await Task.sleep(for: delay) }
    try await untilCallerHangsUp(request) { try await Task.sleep(for: delay) }
  }

  private func untilCallerHangsUp(
    _ request: Request, _ work: @Sendable () async throws -> Void
  ) async throws {
    do {
      try await request.body.consumeWithCancellationOnInboundClose { _ in try await work() }
    } catch {
      Logger.current.debug("\(request.uri.path): the caller disconnected")
      throw error
    }
  }
}

/// The three backends of the gateway.
struct UnreliableBackends: Sendable {
  let products: UnreliableBackend
  let reviews: UnreliableBackend
  let prices: UnreliableBackend

  init(fate: (@Sendable (_ backend: String, UnreliableBackend.Call) -> Fate)? = nil) {
    func backend(
      _ name: String, _ answer: @escaping @Sendable (Int) -> any Encodable & Sendable
    ) -> UnreliableBackend {
      guard let fate else { return UnreliableBackend(name, answer: answer) }
      return UnreliableBackend(name, fate: { call in fate(name, call) }, answer: answer)
    }
    products = backend("products") { id in Product(id: id, name: "Lamp \(id)") }
    reviews = backend("reviews") { id in [Review(stars: 1 + id % 5, text: "It shines.")] }
    prices = backend("prices") { id in Price(cents: 999 + id % 100) }
  }

  var all: [UnreliableBackend] { [products, reviews, prices] }

  var addresses: BackendAddresses {
    BackendAddresses(products: products.address, reviews: reviews.address, prices: prices.address)
  }
}
