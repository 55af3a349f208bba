import Foundation
import NIOCore
import Pledge
import PledgeTesting
import Testing

@testable import fetch

/// The program over HTTPS, IPv6, and proxies, and with unusual servers.
@Suite(.serialized) struct NetworkTests {
  private let folder = ScratchFolder()

  /// Downloads `url` to `x` in the folder, and returns the output.
  @discardableResult
  private func fetch(
    _ url: String, _ options: [String] = [], setup: String = "true", status: Int32 = 0,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> String {
    try await folder.fetch(
      ["\(url) out=x", "--quiet", "--retries", "1"] + options, setup: setup, status: status,
      sourceLocation: sourceLocation)
  }

  // MARK: - HTTPS

  /// With a proxy, the peer has the proxy's address, which says nothing about the server; without
  /// one, the address comes from the DNS, and the user asked for the name.
  @Test(
    .enabled(if: Certificate.isAvailable),
    arguments: [
      ("DNS:localhost", "localhost", false, true), ("DNS:localhost", "127.0.0.1", false, false),
      ("IP:127.0.0.1", "localhost", false, false), ("IP:127.0.0.1", "127.0.0.1", false, true),
      ("IP:127.0.0.1,DNS:localhost", "localhost", false, true),
      ("DNS:localhost", "localhost", true, true), ("IP:127.0.0.1", "victim.example", true, false),
      ("IP:127.0.0.1", "10.1.2.3", true, false),
      ("IP:127.0.0.1,DNS:*.example", "a.example", true, true),
      ("IP:127.0.0.1,DNS:*.example", "A.EXAMPLE", true, true),
      ("IP:127.0.0.1,DNS:*.example", "a.b.example", true, false),
      ("IP:127.0.0.1,DNS:*.example", "example", true, false),
    ])
  func https_isFetchedIfTheCertificateIsForTheHost(
    names: String, host: String, hasProxy: Bool, isTrusted: Bool
  ) async throws {
    let certificate = try Certificate(for: names, in: folder)
    let server = try await RawServer(tls: certificate.context) { _ in RawServer.hello }
    let proxy = try await RawServer.proxy(leadingTo: server.port)
    let output = try await fetch(
      "https://\(host):\(server.port)/x", ["--cacert", certificate.path],
      setup: hasProxy ? "export https_proxy=http://127.0.0.1:\(proxy.port)" : "true",
      status: isTrusted ? 0 : 1)
    if isTrusted {
      #expect(try folder.text("x") == "hello")
    } else {
      #expect(output.contains("is for another host"))
    }
    #expect(server.requests.count == (isTrusted ? 1 : 0), "nothing is sent")
    let tunnels = proxy.requests.map { $0.line.lowercased() }
    #expect(tunnels == (hasProxy ? ["connect \(host.lowercased()):\(server.port) http/1.1"] : []))
  }

  /// The server doesn't even react to the end of the connection.
  @Test(.enabled(if: Certificate.isAvailable))
  func https_ofAServerThatHasStopped_doesNotDelayTheShutdown() async throws {
    let certificate = try Certificate(for: "IP:127.0.0.1", in: folder)
    let server = try await RawServer(tls: certificate.context) { _, connection in
      connection.channel.setOption(.autoRead, value: false).assumeIsolated().whenSuccess {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
      }
    }
    let transport = HTTPTransport(
      proxies: try Proxies(environment: [:]), connectionsPerHost: 1,
      certificates: certificate.path)
    let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/x"))
    let answer = try await transport.get(url, headers: [:]).value
    let body = answer.body { _ in }
    body.cancel()
    _ = await body.result
    let duration = try await ContinuousClock().measure { try await transport.shutdown() }
    // Otherwise, it waits 5 s for the server.
    #expect(duration < .seconds(3))
  }

  @Test(.enabled(if: Certificate.isAvailable), arguments: [false, true])
  func certificate_isTrusted_ifTheEnvironmentSaysSo(isTrusted: Bool) async throws {
    let certificate = try Certificate(for: "DNS:localhost", in: folder)
    let server = try await RawServer(tls: certificate.context) { _ in RawServer.hello }
    let output = try await fetch(
      "https://localhost:\(server.port)/x",
      setup: isTrusted ? "export SSL_CERT_FILE='\(certificate.path)'" : "true",
      status: isTrusted ? 0 : 1)
    let message = isTrusted ? "" : "has expired, or no authority that is trusted has signed it"
    #expect(message.isEmpty || output.contains(message), "\(output)")
    #expect(server.requests.count == (isTrusted ? 1 : 0), "nothing is sent")
  }

  @Test func https_ofAServerWithoutTLS_isExplained() async throws {
    let answering = try await RawServer { _, _ in
    } begin: { connection in
      connection.receive = { [channel = connection.channel] _ in
        channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\r\n"), promise: nil)
      }
    }
    let output = try await fetch("https://localhost:\(answering.port)/x", status: 1)
    #expect(
      output == "fetch: x: localhost:\(answering.port) does not use TLS; "
        + "is the URL one of http://?\n", "\(output)")
  }

  // MARK: - IPv6

  @Test func ipv6_isFetched() async throws {
    guard let server = try? await RawServer(host: "::1", answer: { _ in RawServer.hello }) else {
      print("This machine has no IPv6: the test is left out.")
      return
    }
    try await fetch("http://[::1]:\(server.port)/x")
    #expect(try folder.text("x") == "hello")
    #expect(server.requests.map { $0.field("host") } == ["[::1]:\(server.port)"])
  }

  // MARK: - Proxies

  @Test func proxy_ofTheEnvironment_makesATunnel_exceptForSomeHosts() async throws {
    let server = try await RawServer { _ in RawServer.hello }
    let proxy = try await RawServer.proxy()
    let url = "http://127.0.0.1:\(server.port)/x%20y?z=1"
    let variable = "http_proxy=http://127.0.0.1:\(proxy.port)"
    try await fetch(url, setup: "export \(variable)")
    #expect(try folder.text("x") == "hello")
    #expect(proxy.requests.map(\.line) == ["CONNECT 127.0.0.1:\(server.port) HTTP/1.1"])
    #expect(server.requests.map(\.line) == ["GET /x%20y?z=1 HTTP/1.1"])

    try await fetch(url, setup: "export \(variable) no_proxy=127.0.0.1")
    #expect(proxy.requests.count == 1 && server.requests.count == 2)
  }

  @Test func proxy_ofAnEmptyVariable_isTheGeneralOne() throws {
    let url = try #require(URL(string: "http://127.0.0.1/x"))
    let general = Proxies.Server(host: "p", port: 2)
    for (environment, server) in [
      (["http_proxy": "", "all_proxy": "http://p:2"], general),
      (["http_proxy": "", "all_proxy": "", "ALL_PROXY": "p:2"], general),
      (["http_proxy": "", "all_proxy": ""], nil),
    ] {
      #expect(try Proxies(environment: environment).server(for: url) == server)
    }
  }

  @Test func proxy_withAPassword_isToldIt() async throws {
    let server = try await RawServer { _ in RawServer.hello }
    let basic = "Basic " + Data("me:top secret".utf8).base64EncodedString()
    let proxy = try await RawServer.proxy(password: basic)
    let url = "http://127.0.0.1:\(server.port)/x"
    try await fetch(url, setup: "export http_proxy=http://me:top%20secret@127.0.0.1:\(proxy.port)")
    #expect(server.requests.map { $0.field("authorization") } == [nil])
    let without = try await fetch(
      url, setup: "export http_proxy=127.0.0.1:\(proxy.port)", status: 1)
    #expect(without.contains("127.0.0.1:\(proxy.port) requires a user name and a password"))
  }

  // MARK: - Unusual servers

  /// A response, and how the program handles it.
  private struct Exchange: CustomTestStringConvertible {
    let testDescription: String
    var user = ""
    var path = "x"
    var options: [String] = []
    /// Lines of the request, in lower case.
    var sent: [String] = []
    var requests = 1
    /// What the program prints; nil if it saves the file, and prints nothing.
    var error: String?
    var answer: @Sendable (RawServer.Request) -> String = { _ in RawServer.hello }

    private static func empty(_ status: String, _ fields: String = "") -> String {
      "HTTP/1.1 \(status)\r\n\(fields)Content-Length: 0\r\nConnection: close\r\n\r\n"
    }

    private static let asksForPassword: @Sendable (RawServer.Request) -> String = { request in
      request.field("authorization") == nil
        ? empty("401 Unauthorized", "WWW-Authenticate: Basic\r\n") : RawServer.hello
    }

    static let all: [Exchange] =
      [
        Exchange(
          testDescription: "HTTP/1.0 without a length",
          answer: { _ in "HTTP/1.0 200 OK\r\n\r\nhello" }),
        Exchange(
          testDescription: "encoded content", sent: ["accept-encoding: identity"],
          answer: { _ in
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"
          }),
        Exchange(
          testDescription: "fields of the user",
          options: ["-H", "user-agent: mine", "-H", "accept-encoding: br"],
          sent: ["user-agent: mine", "accept-encoding: br"]),
        Exchange(
          testDescription: "a password that is needed", error: "HTTP status 401 from",
          answer: asksForPassword),
        Exchange(testDescription: "a password", user: "me:secret@", answer: asksForPassword),
        Exchange(
          testDescription: "a missing file", error: "fetch: x: HTTP status 404",
          answer: { _ in empty("404 No") }),
        Exchange(
          testDescription: "a redirection to an impossible port",
          error: "which is not an HTTP URL",
          answer: { _ in empty("302 Found", "Location: http://127.0.0.1:99999/\r\n") }),
        // AsyncHTTPClient would request another file.
        Exchange(
          testDescription: "a path that isn't UTF-8", path: "caf%e9.txt", requests: 0,
          error: "is not UTF-8 text"),
        Exchange(
          testDescription: "a redirection to such a path", error: "is not UTF-8 text",
          answer: { _ in empty("302 Found", "Location: /caf%e9/x\r\n") }),
        Exchange(testDescription: "a path that is UTF-8", path: "caf%C3%A9.txt"),
      ]
      + [0, 42, 99].map { status in
        // AsyncHTTPClient would end the process.
        Exchange(
          testDescription: "status \(status)", error: "the invalid HTTP status \(status)",
          answer: { _ in empty("\(String(1000 + status).dropFirst()) X") })
      }
  }

  @Test(arguments: Exchange.all)
  private func response_isSaved_orTheErrorIsPrinted(exchange: Exchange) async throws {
    let server = try await RawServer(answer: exchange.answer)
    let output = try await fetch(
      "http://\(exchange.user)127.0.0.1:\(server.port)/\(exchange.path)", exchange.options,
      setup: "exec >out", status: exchange.error == nil ? 0 : 1)
    if let error = exchange.error {
      #expect(output.contains(error))
    } else {
      #expect(output.isEmpty)
      #expect(try folder.text("x") == "hello")
    }
    #expect(try folder.text("out").isEmpty, "errors are on standard error")
    #expect(server.requests.count == exchange.requests)
    for line in exchange.sent {
      let lines = server.requests.first?.lines.map { $0.lowercased() } ?? []
      #expect(lines.filter { $0.hasPrefix(line.prefix { $0 != ":" } + ":") } == [line])
    }
  }

  // MARK: - Standard streams and signals

  @Test(arguments: ["exec 2>&-", "exec 2>/dev/full"])
  func closedStandardError_doesNotStopDownloads(setup: String) async throws {
    let server = try await RawServer { _ in RawServer.hello }
    try await fetch(
      "http://127.0.0.1:\(server.port)/a", ["http://127.0.0.1:1/b"], setup: setup, status: 1)
    #expect(try folder.text("x") == "hello")
  }

  @Test func ignoredSignals_stayIgnored_andARepeatedSignalDoesNotExit() async throws {
    let (begun, beginning) = AsyncStream<Void>.makeStream()
    let server = try await RawServer { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")
      beginning.yield()
    }
    let arguments = ["http://127.0.0.1:\(server.port)/x", "--quiet"]
    let process = try FetchProcess(arguments, in: folder, setup: "trap '' HUP")
    for await _ in begun { break }
    process.send(SIGHUP)
    process.send(SIGTERM)
    process.send(SIGTERM)
    let ending = try await process.ending()
    #expect(ending.status == 143)
    #expect(ending.output == "fetch: interrupted; no partial files were kept\n")
  }

  /// A client that was created after the shutdown would never be shut down.
  ///
  /// AsyncHTTPClient treats that as a programmer error and ends the program.
  @Test func requestAfterTheShutdown_isRejected() async throws {
    let transport = HTTPTransport(proxies: try Proxies(environment: [:]), connectionsPerHost: 1)
    try await transport.shutdown()
    let url = try #require(URL(string: "http://127.0.0.1:1/x"))
    await #expect(throws: CancellationError.self) {
      _ = try await transport.get(url, headers: [:]).value
    }
  }

  /// Otherwise, the requests of a batch of responses aren't sent together.
  @Test func responses_arriveOnTheExecutorOfTheTransport() async throws {
    let server = try await RawServer { _ in RawServer.hello }
    let transport = HTTPTransport(proxies: try Proxies(environment: [:]), connectionsPerHost: 1)
    let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/x"))
    let threads = Recorder<pthread_t>()
    let arrival = transport.get(url, headers: [:]).then(on: .immediate) { answer in
      answer.body { _ in threads.record(pthread_self()) }
    }
    try await arrival.done(on: transport.executor) { threads.record(pthread_self()) }.value
    #expect(threads.count == 2 && Set(threads.events).count == 1)
    try await transport.shutdown()
  }
}
