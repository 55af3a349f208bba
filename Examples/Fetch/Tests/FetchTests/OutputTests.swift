import FetchSupport
import FetchTestSupport
import Foundation
import NIOCore
import Synchronization
import Testing

/// What the program writes: files, standard output, and messages.
@Suite(.serialized) struct OutputTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  private static let hello =
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"

  // MARK: - Targets

  @Test(arguments: ["b.bin", "-x", "sub/b.bin", ".hidden"])
  func output_namesTheFile(name: String) async throws {
    let server = try await RawServer { _ in Self.hello }
    let url = "http://127.0.0.1:\(server.port)/other"
    let ending = try await folder.fetch([url, "--output=\(name)", "-q"])
    #expect(ending.status == 0 && ending.output.isEmpty, "\(ending.output)")
    #expect(try folder.text(name) == "hello")
    #expect(try folder.names.count == 1)
    let other = try await folder.fetch([url, "-o", "c", "-d", "files", "-q"])
    #expect(other.status == 0, "\(other.output)")
    #expect(try folder.text("files/c") == "hello")
    await server.stop()
  }

  @Test func output_ofAHyphen_isStandardOutput() async throws {
    let server = try await RawServer { request in
      request.field("range") == nil
        ? "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"1\"\r\n\r\nhello"
        : "HTTP/1.1 206 Partial\r\nContent-Range: bytes 5-9/10\r\nContent-Length: 5\r\n"
          + "ETag: \"1\"\r\nConnection: close\r\n\r\nworld"
    }
    let url = "http://127.0.0.1:\(server.port)/x"
    let checksum = Checksum(of: Data("helloworld".utf8))
    let ending = try await folder.fetch(
      ["\(url) sha256=\(checksum)", "-o", "-"], setup: "exec >out")
    #expect(ending.status == 0, "\(ending.output)")
    #expect(try folder.text("out") == "helloworld")
    #expect(ending.output.contains("1/1 files"), "\(ending.output)")
    let wrong = String(repeating: "0", count: 64)
    let failure = try await folder.fetch(
      ["\(url) sha256=\(wrong)", "-o", "-", "-q"], setup: "exec >out")
    #expect(failure.status == 1)
    #expect(try folder.text("out") == "helloworld", "it can't be written again")
    #expect(failure.output.contains("wrong sha256"), "\(failure.output)")
    #expect(try folder.names == ["out"])
    await server.stop()
  }

  /// As with `fetch … -o - | head -c 5`.
  @Test func closedPipe_endsTheProgram() async throws {
    let server = try await RawServer.sending(
      ByteBuffer(repeating: 7, count: 100_000), count: 1000
    ) {}
    let url = "http://127.0.0.1:\(server.port)/x"
    let program = "\"$0\" \(url) -q -o - | head -c 5 >out; exit 3"
    let ending = try await folder.fetch([], setup: program)
    #expect(ending.status == 3)
    #expect(ending.output.contains("standard output: Broken pipe"), "\(ending.output)")
    await server.stop()
  }

  // MARK: - Files of the user's

  /// Nothing that the user has is erased, and nothing of an earlier run, before there is a good
  /// response; the user's own files aren't touched after it, either.
  @Test(arguments: [["--no-clobber"], []])
  func partialFiles_areLeftAlone(options: [String]) async throws {
    let mine = ["x.part": "precious", "x.part.json": "precious, too"]
    for (name, text) in mine { try Data(text.utf8).write(to: folder.file(name)) }
    let server = try await RawServer { request in
      request.line.contains(" /missing ")
        ? "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" : Self.hello
    }
    let address = "http://127.0.0.1:\(server.port)"
    for url in ["http://127.0.0.1:1/x", "\(address)/missing", "\(address)/x"] {
      let ending = try await folder.fetch(["\(url) out=x"] + options)
      #expect(ending.status == (url.hasSuffix("\(server.port)/x") ? 0 : 1), "\(ending.output)")
      for (name, content) in mine { #expect(try folder.text(name) == content, "\(url)") }
    }
    #expect(try Set(folder.names) == Set(mine.keys).union(["x"]))
    #expect(try folder.text("x") == "hello")
    await server.stop()
  }

  @Test func noClobber_keepsAFileWithAWrongChecksum() async throws {
    try Data("mine".utf8).write(to: folder.file("x"))
    let wrong = String(repeating: "0", count: 64)
    let ending = try await folder.fetch(
      ["http://127.0.0.1:1/x sha256=\(wrong)", "--no-clobber"])
    #expect(ending.status == 1 && ending.output.contains("wrong sha256"), "\(ending.output)")
    #expect(try folder.text("x") == "mine")
  }

  // MARK: - Messages

  @Test func quiet_printsErrorsOnly_onStandardError() async throws {
    let server = try await RawServer { request in
      request.line.contains(" /x ")
        ? Self.hello : "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    }
    let address = "http://127.0.0.1:\(server.port)"
    let good = try await folder.fetch(["-q", "\(address)/x"])
    #expect(good.status == 0 && good.output.isEmpty, "\(good.output)")
    let bad = try await folder.fetch(["-q", "\(address)/y"], setup: "exec >out")
    #expect(bad.status == 1)
    #expect(bad.output.hasPrefix("fetch: y: HTTP status 404"), "\(bad.output)")
    #expect(try folder.text("out").isEmpty)
    await server.stop()
  }

  @Test func refusedConnection_isReportedAtOnce_withItsAddress() async throws {
    let duration = try await ContinuousClock().measure {
      let ending = try await folder.fetch(["-q", "http://127.0.0.1:1/x"])
      #expect(ending.status == 1)
      #expect(
        ending.output == "fetch: x: cannot connect to 127.0.0.1:1: Connection refused\n",
        "\(ending.output)")
    }
    // With all its retries, it takes half a minute.
    #expect(duration < .seconds(10))
    let proxy = try await folder.fetch(
      ["-q", "http://example.org/x"], setup: "export http_proxy=127.0.0.1:1")
    #expect(
      proxy.output.contains("cannot connect to the proxy 127.0.0.1:1: Connection refused"),
      "\(proxy.output)")
  }

  /// A list in another format must not be taken for one whose files need no verification.
  @Test func metalink_isNotAList() async throws {
    let server = try await RawServer { _ in Self.hello }
    let list = """
      <?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="x">
      <hash type="sha-512">00</hash>
      <url>http://127.0.0.1:\(server.port)/x</url></file></metalink>
      """
    try Data(list.utf8).write(to: folder.file("list"))
    let ending = try await folder.fetch(["-q", "--list", "list"])
    #expect(ending.status == 64, "\(ending.output)")
    #expect(try folder.names == ["list"])
    #expect(server.requests.isEmpty)
    await server.stop()
  }

  @Test func help_fitsOnAScreen() async throws {
    let ending = try await folder.fetch(["--help"], setup: "export COLUMNS=80")
    #expect(ending.status == 0)
    let lines = ending.output.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 40 && lines.allSatisfy { $0.count <= 80 }, "\(ending.output)")
  }
}
