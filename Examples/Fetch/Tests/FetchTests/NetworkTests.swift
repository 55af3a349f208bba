import FetchEngine
import FetchSupport
import FetchTestSupport
import Foundation
import NIOCore
import Pledge
import PledgeTesting
import Testing

@testable import fetch

/// The program over HTTPS, IPv6, and proxies, and with unusual servers.
@Suite(.serialized) struct NetworkTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  /// Downloads `url` to `x` in the folder.
  private func fetch(
    _ url: String, _ options: [String] = [], setup: String = "true"
  ) async throws -> FetchProcess.Ending {
    try await folder.fetch(
      ["\(url) out=x", "--quiet", "--retries", "1"] + options, setup: setup)
  }

  private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

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
    let server = try await RawServer(tls: certificate.context) { _ in Self.hello }
    let proxy = try await RawServer.proxy(leadingTo: server.port)
    let ending = try await fetch(
      "https://\(host):\(server.port)/x", ["--cacert", certificate.path],
      setup: hasProxy ? "export https_proxy=http://127.0.0.1:\(proxy.port)" : "true")
    #expect(ending.status == (isTrusted ? 0 : 1), "\(ending.output)")
    if isTrusted {
      #expect(try folder.text("x") == "hello")
    } else {
      #expect(ending.output.contains("is for another host"), "\(ending.output)")
    }
    #expect(server.requests.count == (isTrusted ? 1 : 0), "nothing is sent")
    let tunnels = proxy.requests.map { $0.line.lowercased() }
    #expect(tunnels == (hasProxy ? ["connect \(host.lowercased()):\(server.port) http/1.1"] : []))
    await server.stop()
    await proxy.stop()
  }

  /// The server doesn't even react to the end of the connection.
  @Test(.enabled(if: Certificate.isAvailable))
  func https_ofAServerThatHasStopped_doesNotDelayTheShutdown() async throws {
    let certificate = try Certificate(for: "IP:127.0.0.1", in: folder)
    let server = try await RawServer.deaf(tls: certificate.context)
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
    await server.stop()
  }

  @Test(.enabled(if: Certificate.isAvailable))
  func https_withoutTrust_isRefusedAtOnce() async throws {
    let certificate = try Certificate(for: "DNS:localhost", in: folder)
    let server = try await RawServer(tls: certificate.context) { _ in Self.hello }
    let unknown = try await fetch("https://localhost:\(server.port)/x")
    #expect(unknown.status == 1)
    #expect(
      unknown.output.contains("has expired, or no authority that is trusted has signed it"),
      "\(unknown.output)")
    #expect(server.requests.isEmpty, "nothing is sent")
    await server.stop()
  }

  @Test(.enabled(if: Certificate.isAvailable))
  func certificates_ofTheEnvironment_areTrusted() async throws {
    let certificate = try Certificate(for: "DNS:localhost", in: folder)
    let server = try await RawServer(tls: certificate.context) { _ in Self.hello }
    let ending = try await fetch(
      "https://localhost:\(server.port)/x",
      setup: "export SSL_CERT_FILE='\(certificate.path)'")
    #expect(ending.status == 0, "\(ending.output)")
    await server.stop()
  }

  @Test func https_ofAServerWithoutTLS_isExplained() async throws {
    let answering = try await RawServer.plain("HTTP/1.1 400 Bad Request\r\n\r\n")
    let ending = try await fetch("https://localhost:\(answering.port)/x")
    #expect(ending.status == 1)
    #expect(
      ending.output == "fetch: x: localhost:\(answering.port) does not use TLS; "
        + "is the URL one of http://?\n", "\(ending.output)")
    await answering.stop()
  }

  @Test(.enabled(if: Certificate.isAvailable))
  func redirection_fromHTTPSToHTTP_dropsThePassword() async throws {
    let certificate = try Certificate(for: "DNS:localhost", in: folder)
    let plain = try await RawServer { _ in Self.hello }
    let port = plain.port
    let secure = try await RawServer(tls: certificate.context) { _ in
      "HTTP/1.1 302 Found\r\nLocation: http://localhost:\(port)/y\r\nContent-Length: 0\r\n\r\n"
    }
    let ending = try await fetch(
      "https://me:secret@localhost:\(secure.port)/x", ["--cacert", certificate.path])
    #expect(ending.status == 0, "\(ending.output)")
    #expect(secure.requests.map { $0.field("authorization") != nil } == [true])
    #expect(plain.requests.map { $0.field("authorization") != nil } == [false])
    await secure.stop()
    await plain.stop()
  }

  // MARK: - IPv6

  @Test func ipv6_isFetched() async throws {
    guard let server = try? await RawServer(host: "::1", answer: { _ in Self.hello }) else {
      print("This machine has no IPv6: the test is left out.")
      return
    }
    let ending = try await fetch("http://[::1]:\(server.port)/x")
    #expect(ending.status == 0, "\(ending.output)")
    #expect(try folder.text("x") == "hello")
    #expect(server.requests.map { $0.field("host") } == ["[::1]:\(server.port)"])
    await server.stop()
  }

  // MARK: - Proxies

  @Test func proxy_ofTheEnvironment_makesATunnel_exceptForSomeHosts() async throws {
    let server = try await RawServer { _ in Self.hello }
    let proxy = try await RawServer.proxy()
    let url = "http://127.0.0.1:\(server.port)/x%20y?z=1"
    let variable = "http_proxy=http://127.0.0.1:\(proxy.port)"
    let ending = try await fetch(url, setup: "export \(variable)")
    #expect(ending.status == 0, "\(ending.output)")
    #expect(try folder.text("x") == "hello")
    #expect(proxy.requests.map(\.line) == ["CONNECT 127.0.0.1:\(server.port) HTTP/1.1"])
    #expect(server.requests.map(\.line) == ["GET /x%20y?z=1 HTTP/1.1"])

    let direct = try await fetch(url, setup: "export \(variable) no_proxy=127.0.0.1")
    #expect(direct.status == 0 && proxy.requests.count == 1 && server.requests.count == 2)
    await server.stop()
    await proxy.stop()
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
    let server = try await RawServer { _ in Self.hello }
    let basic = "Basic " + Data("me:top secret".utf8).base64EncodedString()
    let proxy = try await RawServer.proxy(password: basic)
    let url = "http://127.0.0.1:\(server.port)/x"
    let ending = try await fetch(
      url, setup: "export http_proxy=http://me:top%20secret@127.0.0.1:\(proxy.port)")
    #expect(ending.status == 0, "\(ending.output)")
    #expect(server.requests.map { $0.field("authorization") } == [nil])
    let without = try await fetch(
      url, setup: "export http_proxy=127.0.0.1:\(proxy.port)")
    #expect(without.status == 1)
    #expect(
      without.output.contains("127.0.0.1:\(proxy.port) requires a user name and a password"),
      "\(without.output)")
    await server.stop()
    await proxy.stop()
  }

  @Test(arguments: ["socks5://me:secret@127.0.0.1:1", "http://me:secret@127.0.0.1:70000"])
  func proxyThatIsNotOfHTTP_isRefused(address: String) async throws {
    let ending = try await fetch(
      "http://127.0.0.1:1/x", setup: "export all_proxy='\(address)'")
    #expect(ending.status == 64)
    #expect(ending.output.contains("is not the URL of an HTTP proxy"), "\(ending.output)")
    #expect(!ending.output.contains("secret"))
  }

  // MARK: - Unusual servers

  @Test func http10_withoutALength_endsWithTheConnection() async throws {
    let server = try await RawServer { _ in "HTTP/1.0 200 OK\r\n\r\nhello" }
    let ending = try await fetch("http://127.0.0.1:\(server.port)/x")
    #expect(ending.status == 0, "\(ending.output)")
    #expect(try folder.text("x") == "hello")
    await server.stop()
  }

  @Test func encodedContent_isSavedAsItWasSent() async throws {
    let server = try await RawServer { _ in
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"
    }
    let checksum = Checksum(of: Data("hello".utf8)).hex
    let ending = try await fetch(
      "http://127.0.0.1:\(server.port)/x sha256=\(checksum)")
    #expect(ending.status == 0, "\(ending.output)")
    #expect(server.requests.map { $0.field("accept-encoding") } == ["identity"])
    await server.stop()
  }

  @Test func passwordNeeded_isSaidAtOnce() async throws {
    let server = try await RawServer { request in
      let head = request.field("authorization") == nil ? "401 Unauthorized" : "200 OK"
      return "HTTP/1.1 \(head)\r\nWWW-Authenticate: Basic\r\nContent-Length: 5\r\n\r\nhello"
    }
    let ending = try await fetch("http://127.0.0.1:\(server.port)/x")
    #expect(ending.status == 1)
    #expect(ending.output.contains("HTTP status 401 from"))
    #expect(server.requests.count == 1)
    let allowed = try await fetch("http://me:secret@127.0.0.1:\(server.port)/x")
    #expect(allowed.status == 0, "\(allowed.output)")
    await server.stop()
  }

  @Test func ownFields_replaceTheUsualOnes() async throws {
    let server = try await RawServer { _ in Self.hello }
    let ending = try await fetch(
      "http://127.0.0.1:\(server.port)/x",
      ["-H", "user-agent: mine", "-H", "accept-encoding: br"])
    #expect(ending.status == 0, "\(ending.output)")
    let lines = server.requests[0].lines.map { $0.lowercased() }
    #expect(lines.filter { $0.hasPrefix("user-agent:") } == ["user-agent: mine"])
    #expect(lines.filter { $0.hasPrefix("accept-encoding:") } == ["accept-encoding: br"])
    await server.stop()
  }

  @Test(arguments: ["099", "000", "042"])
  func impossibleStatus_failsOnlyThatFile(status: String) async throws {
    let server = try await RawServer { request in
      request.line.contains(" /x ")
        ? Self.hello : "HTTP/1.1 \(status) X\r\nContent-Length: 2\r\n\r\nno"
    }
    let address = "http://127.0.0.1:\(server.port)"
    let ending = try await fetch("\(address)/x", ["\(address)/bad"])
    #expect(ending.status == 1, "\(ending.output)")
    let number = try #require(Int(status))
    #expect(ending.output.contains("the invalid HTTP status \(number)"), "\(ending.output)")
    #expect(try folder.text("x") == "hello")
    await server.stop()
  }

  /// AsyncHTTPClient would request another file.
  @Test func nameThatIsNotUTF8_isNotRequestedAsAnother() async throws {
    let server = try await RawServer { request in
      request.line.contains(" /old ")
        ? "HTTP/1.1 302 Found\r\nLocation: /caf%e9/x\r\nContent-Length: 0\r\n"
          + "Connection: close\r\n\r\n" : Self.hello
    }
    let address = "http://127.0.0.1:\(server.port)"
    for path in ["/caf%e9.txt", "/old"] {
      let ending = try await fetch("\(address)\(path)")
      #expect(ending.status == 1)
      #expect(ending.output.contains("is not UTF-8 text"), "\(ending.output)")
    }
    #expect(server.requests.map(\.line) == ["GET /old HTTP/1.1"])
    try (Data("\(address)/caf".utf8) + [0xE9] + Data(".txt\n".utf8))
      .write(to: folder.file("list"))
    let bytes = try await folder.fetch(["--list", "list"])
    #expect(bytes.status == 64 && bytes.output.contains("isn't UTF-8"), "\(bytes.output)")
    #expect(server.requests.count == 1)
    #expect(try await fetch("\(address)/caf%C3%A9.txt").status == 0)
    await server.stop()
  }

  @Test func redirection_toAnImpossiblePort_failsOnlyThatFile() async throws {
    let server = try await RawServer { _ in
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:99999/\r\nContent-Length: 0\r\n\r\n"
    }
    let ending = try await fetch("http://127.0.0.1:\(server.port)/x")
    #expect(ending.status == 1)
    #expect(ending.output.contains("which is not an HTTP URL"), "\(ending.output)")
    #expect(try await fetch("http://127.0.0.1:70000/x").status == 64)
    await server.stop()
  }

  // MARK: - Standard streams and signals

  @Test(arguments: ["exec 2>&-", "exec 2>/dev/full"])
  func closedStandardError_doesNotStopDownloads(setup: String) async throws {
    let server = try await RawServer { _ in Self.hello }
    let address = "http://127.0.0.1:\(server.port)"
    let arguments = ["\(address)/a out=x", "http://127.0.0.1:1/b", "--retries", "0"]
    let ending = try await folder.fetch(arguments, setup: setup)
    #expect(ending.status == 1)
    #expect(try folder.text("x") == "hello")
    await server.stop()
  }

  @Test func closedStandardInputAndFullOutput_areErrors() async throws {
    let server = try await RawServer { _ in Self.hello }
    let url = "http://127.0.0.1:\(server.port)/x"
    let list = try await folder.fetch(["--list", "-"], setup: "exec <&-")
    #expect(list.status == 64 && list.output.contains("standard input"), "\(list.output)")
    let full = try await folder.fetch([url, "-o", "-"], setup: "exec >/dev/full")
    #expect(full.status == 1 && full.output.contains("standard output"), "\(full.output)")
    await server.stop()
  }

  @Test func ignoredSignals_stayIgnored_andARepeatedSignalDoesNotExit() async throws {
    let (begun, beginning) = AsyncStream<Void>.makeStream()
    let server = try await RawServer { _, inbound, outbound in
      try await outbound.write(
        ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"))
      beginning.yield()
      _ = try await inbound.next()
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
    await server.stop()
  }

  @Test func nameInAnArgumentAndInTheList_isAnError() async throws {
    try Data("\nhttp://127.0.0.1:1/y out=X\n".utf8).write(to: folder.file("list.txt"))
    let ending = try await fetch("http://127.0.0.1:1/x", ["--list", "list.txt"])
    #expect(ending.status == 64)
    #expect(ending.output.contains("list.txt:2: \"X\" is"), "\(ending.output)")
    #expect(ending.output.contains("argument 1"))
  }

  @Test func fileWithoutCertificates_isAnError() async throws {
    let ending = try await fetch(
      "https://127.0.0.1:1/x", ["--cacert", "/dev/null"])
    #expect(ending.status == 64 && ending.output.contains("no certificate"), "\(ending.output)")
  }

  /// A client that was created after the shutdown would never be shut down.
  ///
  /// AsyncHTTPClient treats that as a programmer error and ends the program.
  @Test func requestAfterTheShutdown_isRejected() async throws {
    let transport = HTTPTransport(
      proxies: try Proxies(environment: [:]), connectionsPerHost: 1)
    try await transport.shutdown()
    let url = try #require(URL(string: "http://127.0.0.1:1/x"))
    await #expect(throws: CancellationError.self) {
      _ = try await transport.get(url, headers: [:]).value
    }
  }

  /// Otherwise, the requests of a batch of responses aren't sent together.
  @Test func responses_arriveOnTheExecutorOfTheTransport() async throws {
    let server = try await RawServer { _ in Self.hello }
    let transport = HTTPTransport(
      proxies: try Proxies(environment: [:]), connectionsPerHost: 1)
    let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/x"))
    let threads = Recorder<pthread_t>()
    let arrival = transport.get(url, headers: [:]).then(on: .immediate) { answer in
      answer.body { _ in threads.record(pthread_self()) }
    }
    try await arrival.done(on: transport.executor) { threads.record(pthread_self()) }.value
    #expect(threads.count == 2 && Set(threads.events).count == 1)
    await server.stop()
    try await transport.shutdown()
  }

  /// While the receiver is blocked, back pressure stops the server, and the data isn't buffered in
  /// memory.
  @Test func slowReceiver_holdsTheServerBack() async throws {
    let sent = CallCounter()
    let piece = ByteBuffer(repeating: 7, count: 10_000)
    let server = try await RawServer.sending(piece, count: 100_000) { sent.call() }
    let transport = HTTPTransport(
      proxies: try Proxies(environment: [:]), connectionsPerHost: 1)
    let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/x"))
    let answer = try await transport.get(url, headers: [:]).value
    let gate = DispatchSemaphore(value: 0)
    let body = answer.body { _ in gate.wait() }
    // The server sends what the system buffers for a connection, about 30 MB of 1,000, and then
    // stops.
    var last = -1
    while sent.count == 0 || sent.count != last {
      last = sent.count
      try await Task.sleep(for: .milliseconds(300))
    }
    #expect(last < 10_000, "\(last / 100) MB were sent to a receiver that took none")
    body.cancel()
    for _ in 0..<100_000 { gate.signal() }
    _ = await body.result
    await server.stop()
    try await transport.shutdown()
  }
}
