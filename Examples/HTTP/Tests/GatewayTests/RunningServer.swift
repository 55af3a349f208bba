import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import Pledge

@testable import gateway

/// A server on a separate port, and its client.
struct RunningServer: Sendable {
  let server: Server
  let address: String

  var backends: UnreliableBackends { server.backends }

  /// The endpoints, which must behave in the same way.
  static let endpoints = ["page", "async"]

  func get(
    _ path: String, _ headers: [String: String] = [:], client: HTTPClient = .shared
  ) async throws -> Answer {
    var request = HTTPClientRequest(url: "\(address)/\(path)")
    for (name, value) in headers { request.headers.add(name: name, value: value) }
    return try await Answer(to: request, client: client)
  }

  /// Returns the value of a line of `/metrics`.
  func metric(_ line: String) async throws -> Int? {
    let text = try await get("metrics").text
    let found = text.split(separator: "\n").first { $0.hasPrefix("\(line) ") }
    return found.flatMap { Int($0.dropFirst(line.count + 1)) }
  }
}

struct Answer: Sendable {
  var status: Int
  var headers: [String: String]
  var text: String

  init(to request: HTTPClientRequest, client: HTTPClient = .shared) async throws {
    let response = try await client.execute(request, timeout: .seconds(60))
    status = Int(response.status.code)
    headers = .init(response.headers.map { ($0.lowercased(), $1) }) { first, _ in first }
    text = String(buffer: try await response.body.collect(upTo: 1 << 20))
  }

  func page() throws -> Page { try JSONDecoder().decode(Page.self, from: Data(text.utf8)) }
}

extension Settings {
  /// Settings with time limits of an hour, so that they don't affect a test.
  static let test = Settings(
    timeout: .seconds(3600), hedgeDelay: nil, lifetime: .seconds(3600), drain: .zero)
}

/// Runs `body` with a server, and shuts it down.
func withServer<Result: Sendable>(
  _ settings: Settings = .test, logger: Logger = .silent,
  fate: @escaping @Sendable (_ backend: String, UnreliableBackend.Call) -> Fate = { _, _ in
    .answer(after: .zero)
  },
  _ body: (RunningServer) async throws -> Result
) async throws -> Result {
  let server = Server(settings: settings, backends: UnreliableBackends(fate: fate), logger: logger)
  async let end: Void = server.group.run()
  let address = try await server.address.value
  do {
    let result = try await body(RunningServer(server: server, address: address))
    await server.group.triggerGracefulShutdown()
    try await end
    return result
  } catch {
    await server.group.triggerGracefulShutdown()
    throw error
  }
}

extension Logger {
  static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}

/// An event that has happened or will happen.
struct Event: Sendable {
  private let promise: Promise<Void>
  private let resolver: Resolver<Void>

  init() { (promise, resolver) = Promise.withResolvers() }
  func happens() { resolver.fulfill(()) }
  var hasHappened: Bool { !promise.isPending }

  /// Returns when the event has happened; throws an error if the task is cancelled.
  func wait() async throws { try await promise.uncancellable().value }
}

extension Fate {
  /// Returns a fate without a response; `hangUp` happens when the caller disconnects.
  static func stall(untilHangUp hangUp: Event) -> Fate {
    .wait {
      do { try await Promise<Void>.never.value } catch {
        hangUp.happens()
        throw error
      }
    }
  }

  /// Returns the fates of calls if those to `backend` wait for `event`.
  static func holding(
    _ backend: String, until event: Event, noting arrival: Event
  ) -> @Sendable (String, UnreliableBackend.Call) -> Fate {
    { name, _ in name == backend ? .wait(for: event, noting: arrival) : .answer(after: .zero) }
  }

  static func wait(for event: Event, noting arrival: Event? = nil) -> Fate {
    .wait {
      arrival?.happens()
      try await event.wait()
    }
  }
}
