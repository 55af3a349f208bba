import FetchEngine
import FetchSupport
import Foundation
import NIOCore
import Pledge
import Synchronization
import Testing

@testable import fetch

/// The program over HTTPS, IPv6, and proxies, and with unusual servers.
@Suite(.serialized) struct NetworkTests {
  private func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      component: "fetch-network-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  private func path(_ folder: URL) -> String { folder.path(percentEncoded: false) }

  /// Downloads `url` to `x` in the folder, ignoring the proxies of the environment.
  private func fetch(
    _ url: String, _ options: [String] = [], in folder: URL, setup: String = "true"
  ) async throws -> FetchProcess.Ending {
    try await FetchProcess(
      ["\(url) out=x", "--output", path(folder), "--quiet", "--retries", "1"] + options,
      in: folder, setup: "unset http_proxy https_proxy all_proxy no_proxy; \(setup)"
    ).ending()
  }

  private func text(in folder: URL) throws -> String {
    try String(contentsOf: folder.appending(component: "x"), encoding: .utf8)
  }

  private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

  // MARK: - HTTPS

  @Test(.enabled(if: Certificate.isAvailable))
  func https_withATrustedCertificate_isFetched() async throws {
    try await withFolder { folder in
      let certificate = try Certificate(for: "DNS:localhost", in: folder)
      let server = try await RawServer(tls: certificate.context) { _ in Self.hello }
      let ending = try await fetch(
        "https://localhost:\(server.port)/x", ["--cacert", certificate.path], in: folder)
      #expect(ending.status == 0, "\(ending.output)")
      #expect(try text(in: folder) == "hello")
      await server.stop()
    }
  }

  /// The server doesn't even react to the end of the connection.
  @Test(.enabled(if: Certificate.isAvailable))
  func https_ofAServerThatHasStopped_doesNotDelayTheShutdown() async throws {
    try await withFolder { folder in
      let certificate = try Certificate(for: "IP:127.0.0.1", in: folder)
      let server = try await RawServer.deaf(tls: certificate.context)
      let transport = HTTPTransport(
        proxies: try Proxies(option: nil, environment: [:]), connectTimeout: .seconds(10),
        connectionsPerHost: 1, certificates: certificate.path)
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
  }

  @Test(.enabled(if: Certificate.isAvailable))
  func https_withoutTrust_isRefusedAtOnce() async throws {
    try await withFolder { folder in
      let certificate = try Certificate(for: "DNS:localhost", in: folder)
      let server = try await RawServer(tls: certificate.context) { _ in Self.hello }
      let unknown = try await fetch("https://localhost:\(server.port)/x", in: folder)
      #expect(unknown.status == 1)
      #expect(
        unknown.output.contains("failed: the certificate of the server is not trusted"),
        "\(unknown.output)")
      let other = try await fetch(
        "https://127.0.0.1:\(server.port)/x", ["--cacert", certificate.path], in: folder)
      #expect(other.status == 1)
      #expect(
        other.output.contains("failed: the certificate of the server is for another host"),
        "\(other.output)")
      #expect(server.requests.isEmpty, "nothing is sent")
      await server.stop()
    }
  }

  @Test(.enabled(if: Certificate.isAvailable))
  func redirection_fromHTTPSToHTTP_dropsThePassword() async throws {
    try await withFolder { folder in
      let certificate = try Certificate(for: "DNS:localhost", in: folder)
      let plain = try await RawServer { _ in Self.hello }
      let port = plain.port
      let secure = try await RawServer(tls: certificate.context) { _ in
        "HTTP/1.1 302 Found\r\nLocation: http://localhost:\(port)/y\r\nContent-Length: 0\r\n\r\n"
      }
      let ending = try await fetch(
        "https://me:secret@localhost:\(secure.port)/x", ["--cacert", certificate.path], in: folder)
      #expect(ending.status == 0, "\(ending.output)")
      #expect(secure.requests.map { $0.field("authorization") != nil } == [true])
      #expect(plain.requests.map { $0.field("authorization") != nil } == [false])
      await secure.stop()
      await plain.stop()
    }
  }

  // MARK: - IPv6

  @Test func ipv6_isFetched() async throws {
    try await withFolder { folder in
      guard let server = try? await RawServer(host: "::1", answer: { _ in Self.hello }) else {
        print("This machine has no IPv6: the test is left out.")
        return
      }
      let ending = try await fetch("http://[::1]:\(server.port)/x", in: folder)
      #expect(ending.status == 0, "\(ending.output)")
      #expect(try text(in: folder) == "hello")
      #expect(server.requests.map { $0.field("host") } == ["[::1]:\(server.port)"])
      await server.stop()
    }
  }

  // MARK: - Proxies

  @Test func proxy_ofTheEnvironment_getsTheCompleteAddress() async throws {
    try await withFolder { folder in
      let server = try await RawServer { _ in Self.hello }
      let proxy = try await RawServer.proxy()
      let url = "http://127.0.0.1:\(server.port)/x%20y?z=1"
      let ending = try await fetch(
        url, in: folder, setup: "export http_proxy=http://127.0.0.1:\(proxy.port)")
      #expect(ending.status == 0, "\(ending.output)")
      #expect(try text(in: folder) == "hello")
      #expect(proxy.requests.map(\.line) == ["GET \(url) HTTP/1.1"])
      #expect(server.requests.map { $0.field("host") } == ["127.0.0.1:\(server.port)"])

      let direct = try await fetch(
        url, in: folder,
        setup: "export http_proxy=http://127.0.0.1:\(proxy.port) no_proxy=127.0.0.1")
      #expect(direct.status == 0 && proxy.requests.count == 1 && server.requests.count == 2)
      await server.stop()
      await proxy.stop()
    }
  }

  @Test func proxy_ofAnEmptyVariable_isTheGeneralOne() throws {
    let url = try #require(URL(string: "http://127.0.0.1/x"))
    let general = Proxies.Route.forwarded(.init(host: "p", port: 2))
    for (environment, route) in [
      (["http_proxy": "", "all_proxy": "http://p:2"], general),
      (["http_proxy": "", "all_proxy": "", "ALL_PROXY": "http://p:2"], general),
      (["http_proxy": "", "all_proxy": ""], .direct),
    ] {
      #expect(try Proxies(option: nil, environment: environment).route(to: url) == route)
    }
    let environment = ["all_proxy": "http://p:2"]
    #expect(try Proxies(option: "", environment: environment).route(to: url) == .direct)
  }

  @Test func proxy_withAPassword_isToldIt() async throws {
    try await withFolder { folder in
      let server = try await RawServer { _ in Self.hello }
      let basic = "Basic " + Data("me:top secret".utf8).base64EncodedString()
      let proxy = try await RawServer.proxy(password: basic)
      let url = "http://127.0.0.1:\(server.port)/x"
      let ending = try await fetch(
        url, ["--proxy", "http://me:top%20secret@127.0.0.1:\(proxy.port)"], in: folder)
      #expect(ending.status == 0, "\(ending.output)")
      #expect(server.requests.map { $0.field("authorization") } == [nil])
      let without = try await fetch(url, ["--proxy", "127.0.0.1:\(proxy.port)"], in: folder)
      #expect(without.status == 1)
      #expect(
        without.output.contains("the proxy requires a user name and a password"),
        "\(without.output)")
      await server.stop()
      await proxy.stop()
    }
  }

  @Test(.enabled(if: Certificate.isAvailable))
  func proxy_forHTTPS_makesATunnel() async throws {
    try await withFolder { folder in
      let certificate = try Certificate(for: "DNS:localhost", in: folder)
      let server = try await RawServer(tls: certificate.context) { _ in Self.hello }
      let proxy = try await RawServer.proxy()
      let ending = try await fetch(
        "https://localhost:\(server.port)/x", ["--cacert", certificate.path], in: folder,
        setup: "export https_proxy=http://127.0.0.1:\(proxy.port)")
      #expect(ending.status == 0, "\(ending.output)")
      #expect(try text(in: folder) == "hello")
      #expect(proxy.requests.map(\.line) == ["CONNECT localhost:\(server.port) HTTP/1.1"])
      await server.stop()
      await proxy.stop()
    }
  }

  @Test(.enabled(if: Certificate.isAvailable), arguments: [false, true])
  func socksProxy_isAskedForTheHostByName(isEncrypted: Bool) async throws {
    try await withFolder { folder in
      let certificate = try Certificate(for: "DNS:localhost", in: folder)
      let server = try await RawServer(tls: isEncrypted ? certificate.context : nil) { _ in
        Self.hello
      }
      let proxy = try await RawServer.socksProxy()
      let scheme = isEncrypted ? "https" : "http"
      let ending = try await fetch(
        "\(scheme)://localhost:\(server.port)/x", ["--cacert", certificate.path], in: folder,
        setup: "export all_proxy=socks5h://127.0.0.1:\(proxy.port)")
      #expect(ending.status == 0, "\(ending.output)")
      #expect(try text(in: folder) == "hello")
      #expect(proxy.requests.map(\.line) == ["localhost:\(server.port)"])
      #expect(server.requests.map(\.line) == ["GET /x HTTP/1.1"])
      await server.stop()
      await proxy.stop()
    }
  }

  @Test func socksProxy_withAPassword_isRefused() async throws {
    try await withFolder { folder in
      let ending = try await fetch(
        "http://127.0.0.1:1/x", ["--proxy", "socks5://me:secret@127.0.0.1:1"], in: folder)
      #expect(ending.status == 64)
      #expect(
        ending.output.contains("Passwords for SOCKS5 proxies are not supported."),
        "\(ending.output)")
      #expect(!ending.output.contains("secret"))
    }
  }

  // MARK: - Unusual servers

  @Test func http10_withoutALength_endsWithTheConnection() async throws {
    try await withFolder { folder in
      let server = try await RawServer { _ in "HTTP/1.0 200 OK\r\n\r\nhello" }
      let ending = try await fetch("http://127.0.0.1:\(server.port)/x", in: folder)
      #expect(ending.status == 0, "\(ending.output)")
      #expect(try text(in: folder) == "hello")
      await server.stop()
    }
  }

  @Test func encodedContent_isSavedAsItWasSent() async throws {
    try await withFolder { folder in
      let server = try await RawServer { _ in
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"
      }
      let checksum = Checksum(of: Data("hello".utf8)).hex
      let ending = try await fetch(
        "http://127.0.0.1:\(server.port)/x sha256=\(checksum)", in: folder)
      #expect(ending.status == 0, "\(ending.output)")
      #expect(server.requests.map { $0.field("accept-encoding") } == ["identity"])
      await server.stop()
    }
  }

  @Test func passwordNeeded_isSaidAtOnce() async throws {
    try await withFolder { folder in
      let server = try await RawServer { request in
        let head = request.field("authorization") == nil ? "401 Unauthorized" : "200 OK"
        return "HTTP/1.1 \(head)\r\nWWW-Authenticate: Basic\r\nContent-Length: 5\r\n\r\nhello"
      }
      let ending = try await fetch("http://127.0.0.1:\(server.port)/x", in: folder)
      #expect(ending.status == 1)
      #expect(ending.output.contains("HTTP status 401, a user name and a password are required"))
      #expect(server.requests.count == 1)
      let allowed = try await fetch("http://me:secret@127.0.0.1:\(server.port)/x", in: folder)
      #expect(allowed.status == 0, "\(allowed.output)")
      await server.stop()
    }
  }

  @Test func ownFields_replaceTheUsualOnes() async throws {
    try await withFolder { folder in
      let server = try await RawServer { _ in Self.hello }
      let ending = try await fetch(
        "http://127.0.0.1:\(server.port)/x",
        ["-H", "user-agent: mine", "-H", "accept-encoding: br"], in: folder)
      #expect(ending.status == 0, "\(ending.output)")
      let lines = server.requests[0].lines.map { $0.lowercased() }
      #expect(lines.filter { $0.hasPrefix("user-agent:") } == ["user-agent: mine"])
      #expect(lines.filter { $0.hasPrefix("accept-encoding:") } == ["accept-encoding: br"])
      await server.stop()
    }
  }

  @Test(arguments: ["099", "000", "042"])
  func impossibleStatus_failsOnlyThatFile(status: String) async throws {
    try await withFolder { folder in
      let server = try await RawServer { request in
        request.line.contains(" /x ")
          ? Self.hello : "HTTP/1.1 \(status) X\r\nContent-Length: 2\r\n\r\nno"
      }
      let address = "http://127.0.0.1:\(server.port)"
      let ending = try await fetch("\(address)/x", ["\(address)/bad"], in: folder)
      #expect(ending.status == 1, "\(ending.output)")
      let number = try #require(Int(status))
      #expect(ending.output.contains("the invalid HTTP status \(number)"), "\(ending.output)")
      #expect(try text(in: folder) == "hello")
      await server.stop()
    }
  }

  @Test func pathWithEscapesThatAreNotUTF8_isRequestedAsItIs() async throws {
    try await withFolder { folder in
      let server = try await RawServer { request in
        request.line.contains(" /old ")
          ? "HTTP/1.1 302 Found\r\nLocation: /caf%e9/x%ff?q=%fe\r\nContent-Length: 0\r\n"
            + "Connection: close\r\n\r\n" : Self.hello
      }
      let address = "http://127.0.0.1:\(server.port)"
      let ending = try await fetch("\(address)/caf%e9.txt?a=%C3%A9", in: folder)
      #expect(ending.status == 0, "\(ending.output)")
      #expect(try await fetch("\(address)/old", in: folder).status == 0)
      let proxy = try await RawServer.proxy()
      let options = ["--proxy", "http://127.0.0.1:\(proxy.port)"]
      #expect(try await fetch("\(address)/%e9", options, in: folder).status == 0)
      #expect(proxy.requests.map(\.line) == ["GET \(address)/%e9 HTTP/1.1"])
      #expect(
        server.requests.map(\.line) == [
          "GET /caf%e9.txt?a=%C3%A9 HTTP/1.1", "GET /old HTTP/1.1",
          "GET /caf%e9/x%ff?q=%fe HTTP/1.1", "GET /%e9 HTTP/1.1",
        ])
      #expect(server.requests.allSatisfy { $0.field("fetch-target") == nil })
      await proxy.stop()
      await server.stop()
    }
  }

  @Test func redirection_toAnImpossiblePort_failsOnlyThatFile() async throws {
    try await withFolder { folder in
      let server = try await RawServer { _ in
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:99999/\r\nContent-Length: 0\r\n\r\n"
      }
      let ending = try await fetch("http://127.0.0.1:\(server.port)/x", in: folder)
      #expect(ending.status == 1)
      #expect(ending.output.contains("which is not an HTTP URL"), "\(ending.output)")
      #expect(try await fetch("http://127.0.0.1:70000/x", in: folder).status == 64)
      let options = ["--proxy", "http://u:secret@127.0.0.1:70000"]
      let proxy = try await fetch("http://127.0.0.1:1/x", options, in: folder)
      #expect(proxy.status == 64 && !proxy.output.contains("secret"), "\(proxy.output)")
      await server.stop()
    }
  }

  // MARK: - Standard streams and signals

  @Test(arguments: ["exec 2>&-", "exec 2>/dev/full"])
  func closedStandardError_doesNotStopDownloads(setup: String) async throws {
    try await withFolder { folder in
      let server = try await RawServer { _ in Self.hello }
      let address = "http://127.0.0.1:\(server.port)"
      let arguments = ["\(address)/a out=x", "http://127.0.0.1:1/b", "--retries", "0"]
      let ending = try await FetchProcess(
        arguments + ["--output", path(folder)], in: folder, setup: setup
      ).ending()
      #expect(ending.status == 1)
      #expect(try text(in: folder) == "hello")
      await server.stop()
    }
  }

  @Test func closedStandardInputAndFullOutput_areErrors() async throws {
    try await withFolder { folder in
      let server = try await RawServer { _ in Self.hello }
      let url = "http://127.0.0.1:\(server.port)/x"
      let list = try await FetchProcess(["--list", "-"], in: folder, setup: "exec <&-").ending()
      #expect(list.status == 64 && list.output.contains("standard input"), "\(list.output)")
      let full = try await fetch(url, ["--json"], in: folder, setup: "exec >/dev/full")
      #expect(full.status == 1 && full.output.contains("standard output"), "\(full.output)")
      await server.stop()
    }
  }

  @Test(arguments: [true, false])
  func ignoredSignals_stayIgnored_andARepeatedSignalDoesNotExit(hasOutput: Bool) async throws {
    try await withFolder { folder in
      let (begun, beginning) = AsyncStream<Void>.makeStream()
      let server = try await RawServer { _, inbound, outbound in
        try await outbound.write(
          ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"))
        beginning.yield()
        _ = try await inbound.next()
      }
      let arguments = [
        "http://127.0.0.1:\(server.port)/x", "--output", path(folder), "--quiet", "--json",
      ]
      let process = try FetchProcess(
        arguments, in: folder, setup: "trap '' HUP" + (hasOutput ? "" : "; exec >/dev/full"))
      for await _ in begun { break }
      process.interrupt(SIGHUP)
      process.interrupt(SIGTERM)
      process.interrupt(SIGTERM)
      let ending = try await process.ending()
      #expect(ending.status == 143)
      if hasOutput {
        #expect(ending.output.contains("\"status\" : \"unfinished\""), "\(ending.output)")
        #expect(ending.output.contains("\"ending\" : \"signal 15\""))
      }
      await server.stop()
    }
  }

  @Test func demonstration_intoAFolder_needsItsOwnOptions() async throws {
    try await withFolder { folder in
      let ending = try await FetchProcess(["--output", path(folder)], in: folder).ending()
      #expect(ending.status == 64 && ending.output.contains("no file to download"))
    }
  }

  @Test func fileThatIsNotInTheListOfChecksums_isNotFetched() async throws {
    try await withFolder { folder in
      let sums = folder.appending(component: "sums")
      try Data("\(String(repeating: "0", count: 64))  y\n".utf8).write(to: sums)
      let ending = try await fetch(
        "http://127.0.0.1:1/x", ["--checksums", path(sums)], in: folder)
      #expect(ending.status == 64)
      #expect(ending.output.contains("contains no checksum for x"), "\(ending.output)")
    }
  }

  @Test func nameInAnArgumentAndInTheList_isAnError() async throws {
    try await withFolder { folder in
      let list = folder.appending(component: "list.txt")
      try Data("\nhttp://127.0.0.1:1/y out=X\n".utf8).write(to: list)
      let ending = try await fetch("http://127.0.0.1:1/x", ["--list", path(list)], in: folder)
      #expect(ending.status == 64)
      #expect(ending.output.contains("list.txt:2: \"X\" is"), "\(ending.output)")
      #expect(ending.output.contains("argument 1"))
    }
  }

  @Test func fileWithoutCertificates_isAnError() async throws {
    try await withFolder { folder in
      let ending = try await fetch(
        "https://127.0.0.1:1/x", ["--cacert", "/dev/null"], in: folder)
      #expect(ending.status == 64 && ending.output.contains("no certificate"), "\(ending.output)")
    }
  }

  /// A client that was created after the shutdown would never be shut down.
  ///
  /// AsyncHTTPClient treats that as a programmer error and ends the program.
  @Test func requestAfterTheShutdown_isRejected() async throws {
    let transport = HTTPTransport(
      proxies: try Proxies(option: nil, environment: [:]), connectTimeout: .seconds(10),
      connectionsPerHost: 1)
    try await transport.shutdown()
    let url = try #require(URL(string: "http://127.0.0.1:1/x"))
    await #expect(throws: CancellationError.self) {
      _ = try await transport.get(url, headers: [:]).value
    }
  }

  /// While the receiver is blocked, back pressure stops the server, and the data isn't buffered in
  /// memory.
  @Test func slowReceiver_holdsTheServerBack() async throws {
    let sent = Counter()
    let piece = ByteBuffer(repeating: 7, count: 10_000)
    let server = try await RawServer.sending(piece, count: 100_000) { sent.add(1) }
    let transport = HTTPTransport(
      proxies: try Proxies(option: nil, environment: [:]), connectTimeout: .seconds(10),
      connectionsPerHost: 1)
    let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/x"))
    let answer = try await transport.get(url, headers: [:]).value
    let gate = DispatchSemaphore(value: 0)
    let body = answer.body { _ in gate.wait() }
    // The server sends what the system buffers for a connection, about 30 MB of 1,000, and then
    // stops.
    var last = -1
    while sent.value == 0 || sent.value != last {
      last = sent.value
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

private final class Counter: Sendable {
  private let count = Mutex(0)

  var value: Int { count.withLock { $0 } }

  func add(_ number: Int) { count.withLock { $0 += number } }
}
