import FetchSupport
import Foundation
import NIOCore
import Synchronization
import Testing

/// What the program writes: files, standard output, and messages.
@Suite(.serialized) struct OutputTests {
  private func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      component: "fetch-output-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  private func path(_ folder: URL) -> String { folder.path(percentEncoded: false) }

  /// Runs the program in `folder`, without the proxies of the environment.
  private func fetch(
    _ arguments: [String], in folder: URL, setup: String = "true"
  ) async throws -> FetchProcess.Ending {
    try await FetchProcess(
      arguments, in: folder,
      setup: "cd '\(path(folder))' && unset http_proxy https_proxy all_proxy no_proxy; \(setup)"
    ).ending()
  }

  /// The names of the files, without those of the tests.
  private func names(in folder: URL) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: path(folder)))
      .filter { !$0.hasSuffix(".log") }
  }

  private func text(_ name: String, in folder: URL) throws -> String {
    try String(contentsOf: folder.appending(component: name), encoding: .utf8)
  }

  private static let hello =
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"

  // MARK: - Targets

  @Test(arguments: ["b.bin", "-x", "sub/b.bin", ".hidden"])
  func output_namesTheFile(name: String) async throws {
    try await withFolder { folder in
      let server = try await RawServer { _ in Self.hello }
      let url = "http://127.0.0.1:\(server.port)/other"
      let ending = try await fetch([url, "--output=\(name)", "-q"], in: folder)
      #expect(ending.status == 0 && ending.output.isEmpty, "\(ending.output)")
      #expect(try text(name, in: folder) == "hello")
      #expect(try names(in: folder).count == 1)
      let other = try await fetch([url, "-o", "c", "-d", "files", "-q"], in: folder)
      #expect(other.status == 0, "\(other.output)")
      #expect(try text("files/c", in: folder) == "hello")
      await server.stop()
    }
  }

  @Test func output_ofAHyphen_isStandardOutput() async throws {
    try await withFolder { folder in
      let server = try await RawServer { request in
        request.field("range") == nil
          ? "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"1\"\r\n\r\nhello"
          : "HTTP/1.1 206 Partial\r\nContent-Range: bytes 5-9/10\r\nContent-Length: 5\r\n"
            + "ETag: \"1\"\r\nConnection: close\r\n\r\nworld"
      }
      let url = "http://127.0.0.1:\(server.port)/x"
      let checksum = Checksum(of: Data("helloworld".utf8))
      let ending = try await fetch(
        ["\(url) sha256=\(checksum)", "-o", "-"], in: folder, setup: "exec >out")
      #expect(ending.status == 0, "\(ending.output)")
      #expect(try text("out", in: folder) == "helloworld")
      #expect(ending.output.contains("1/1 files"), "\(ending.output)")
      let wrong = String(repeating: "0", count: 64)
      let failure = try await fetch(
        ["\(url) sha256=\(wrong)", "-o", "-", "-q"], in: folder, setup: "exec >out")
      #expect(failure.status == 1)
      #expect(try text("out", in: folder) == "helloworld", "it can't be written again")
      #expect(failure.output.contains("wrong sha256"), "\(failure.output)")
      #expect(try names(in: folder) == ["out"])
      await server.stop()
    }
  }

  /// As with `fetch … -o - | head -c 5`.
  @Test func closedPipe_endsTheProgram() async throws {
    try await withFolder { folder in
      let server = try await RawServer.sending(
        ByteBuffer(repeating: 7, count: 100_000), count: 1000
      ) {}
      let url = "http://127.0.0.1:\(server.port)/x"
      let program = "\"$0\" \(url) -q -o - | head -c 5 >out; exit 3"
      let ending = try await fetch([], in: folder, setup: program)
      #expect(ending.status == 3)
      #expect(ending.output.contains("standard output: Broken pipe"), "\(ending.output)")
      await server.stop()
    }
  }

  // MARK: - Files of the user's

  /// Nothing that the user has is erased, and nothing of an earlier run, before there is a good
  /// response; the user's own files aren't touched after it, either.
  @Test(arguments: [["--no-clobber"], []])
  func partialFiles_areLeftAlone(options: [String]) async throws {
    try await withFolder { folder in
      let mine = ["x.part": "precious", "x.part.json": "precious, too"]
      for (name, text) in mine { try Data(text.utf8).write(to: folder.appending(component: name)) }
      let server = try await RawServer { request in
        request.line.contains(" /missing ")
          ? "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" : Self.hello
      }
      let address = "http://127.0.0.1:\(server.port)"
      for url in ["http://127.0.0.1:1/x", "\(address)/missing", "\(address)/x"] {
        let ending = try await fetch(["\(url) out=x"] + options, in: folder)
        #expect(ending.status == (url.hasSuffix("\(server.port)/x") ? 0 : 1), "\(ending.output)")
        for (name, content) in mine { #expect(try text(name, in: folder) == content, "\(url)") }
      }
      #expect(try names(in: folder) == Set(mine.keys).union(["x"]))
      #expect(try text("x", in: folder) == "hello")
      await server.stop()
    }
  }

  @Test func noClobber_keepsAFileWithAWrongChecksum() async throws {
    try await withFolder { folder in
      try Data("mine".utf8).write(to: folder.appending(component: "x"))
      let wrong = String(repeating: "0", count: 64)
      let ending = try await fetch(
        ["http://127.0.0.1:1/x sha256=\(wrong)", "--no-clobber"], in: folder)
      #expect(ending.status == 1 && ending.output.contains("wrong sha256"), "\(ending.output)")
      #expect(try text("x", in: folder) == "mine")
    }
  }

  // MARK: - Messages

  @Test func quiet_printsErrorsOnly_onStandardError() async throws {
    try await withFolder { folder in
      let server = try await RawServer { request in
        request.line.contains(" /x ")
          ? Self.hello : "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
      }
      let address = "http://127.0.0.1:\(server.port)"
      let good = try await fetch(["-q", "\(address)/x"], in: folder)
      #expect(good.status == 0 && good.output.isEmpty, "\(good.output)")
      let bad = try await fetch(["-q", "\(address)/y"], in: folder, setup: "exec >out")
      #expect(bad.status == 1)
      #expect(bad.output.hasPrefix("fetch: y: HTTP status 404"), "\(bad.output)")
      #expect(try text("out", in: folder).isEmpty)
      await server.stop()
    }
  }

  @Test func refusedConnection_isReportedAtOnce_withItsAddress() async throws {
    try await withFolder { folder in
      let duration = try await ContinuousClock().measure {
        let ending = try await fetch(["-q", "http://127.0.0.1:1/x"], in: folder)
        #expect(ending.status == 1)
        #expect(
          ending.output == "fetch: x: cannot connect to 127.0.0.1:1: Connection refused\n",
          "\(ending.output)")
      }
      // With all its retries, it takes half a minute.
      #expect(duration < .seconds(10))
      let proxy = try await fetch(
        ["-q", "http://example.org/x"], in: folder, setup: "export http_proxy=127.0.0.1:1")
      #expect(
        proxy.output.contains("cannot connect to the proxy 127.0.0.1:1: Connection refused"),
        "\(proxy.output)")
    }
  }

  /// A list in another format must not be taken for one whose files need no verification.
  @Test func metalink_isNotAList() async throws {
    try await withFolder { folder in
      let server = try await RawServer { _ in Self.hello }
      let list = """
        <?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="x">
        <hash type="sha-512">00</hash>
        <url>http://127.0.0.1:\(server.port)/x</url></file></metalink>
        """
      try Data(list.utf8).write(to: folder.appending(component: "list"))
      let ending = try await fetch(["-q", "--list", "list"], in: folder)
      #expect(ending.status == 64, "\(ending.output)")
      #expect(try names(in: folder) == ["list"])
      #expect(server.requests.isEmpty)
      await server.stop()
    }
  }

  @Test func help_fitsOnAScreen() async throws {
    try await withFolder { folder in
      let ending = try await fetch(["--help"], in: folder, setup: "export COLUMNS=80")
      #expect(ending.status == 0)
      let lines = ending.output.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.count <= 40 && lines.allSatisfy { $0.count <= 80 }, "\(ending.output)")
    }
  }
}
