import Foundation
import NIOCore
import Testing

@testable import fetch

/// What the program writes: files, standard output, and messages.
@Suite(.serialized) struct OutputTests {
  private let folder = ScratchFolder()

  // MARK: - Targets

  @Test(arguments: ["b.bin", "-x", "sub/b.bin", ".hidden"])
  func output_namesTheFile(name: String) async throws {
    let server = try await RawServer { _ in RawServer.hello }
    let url = "http://127.0.0.1:\(server.port)/other"
    #expect(try await folder.fetch([url, "--output=\(name)", "-q"]).isEmpty)
    #expect(try folder.text(name) == "hello")
    #expect(try folder.names.count == 1)
    try await folder.fetch([url, "-o", "c", "-d", "files", "-q"])
    #expect(try folder.text("files/c") == "hello")
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
    let output = try await folder.fetch(
      ["\(url) sha256=\(checksum)", "-o", "-"], setup: "exec >out")
    #expect(try folder.text("out") == "helloworld")
    #expect(output.contains("1/1 files"))
    let wrong = String(repeating: "0", count: 64)
    let failure = try await folder.fetch(
      ["\(url) sha256=\(wrong)", "-o", "-", "-q"], setup: "exec >out", status: 1)
    #expect(try folder.text("out") == "helloworld", "it can't be written again")
    #expect(failure.contains("wrong sha256"))
    #expect(try folder.names == ["out"])
  }

  /// As with `fetch … -o - | head -c 5`.
  @Test func closedPipe_endsTheProgram() async throws {
    let server = try await RawServer.sending(ByteBuffer(repeating: 7, count: 100_000), count: 1000)
    let url = "http://127.0.0.1:\(server.port)/x"
    let program = "\"$0\" \(url) -q -o - | head -c 5 >out; exit 3"
    let output = try await folder.fetch([], setup: program, status: 3)
    #expect(output.contains("standard output: Broken pipe"))
    let full = try await folder.fetch([url, "-o", "-"], setup: "exec >/dev/full", status: 1)
    #expect(full.contains("standard output: No space"))
  }

  // MARK: - Files of the user's

  @Test func existingFile_whoseChecksumIsWrong_isKept_ifTheUserSaysSo() async throws {
    try Data("mine".utf8).write(to: folder.file("x"))
    let server = try await RawServer { _ in RawServer.hello }
    let wrong = String(repeating: "0", count: 64)
    let output = try await folder.fetch(
      ["http://127.0.0.1:\(server.port)/x sha256=\(wrong)", "--no-clobber"], status: 1)
    #expect(output.contains("wrong sha256"))
    #expect(try folder.text("x") == "mine" && folder.names == ["x"])
  }

  // MARK: - Messages

  @Test func refusedConnection_isReportedAtOnce_withItsAddress() async throws {
    let output = try await folder.fetch(["-q", "http://127.0.0.1:1/x"], status: 1)
    // With all its retries, it takes half a minute, and says so.
    #expect(output == "fetch: x: cannot connect to 127.0.0.1:1: Connection refused\n", "\(output)")
    let proxy = try await folder.fetch(
      ["-q", "http://example.org/x"], setup: "export http_proxy=127.0.0.1:1", status: 1)
    #expect(proxy.contains("cannot connect to the proxy 127.0.0.1:1: Connection refused"))
  }

  @Test func help_fitsOnAScreen_andTheVersionIsThatOfTheRepository() async throws {
    let output = try await folder.fetch(["--help"], setup: "export COLUMNS=80")
    let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 40 && lines.allSatisfy { $0.count <= 80 }, "\(output)")
    let version = URL(filePath: #filePath).appending(path: "../../../../../VERSION").standardized
    #expect(try await folder.fetch(["--version"]) == String(contentsOf: version, encoding: .utf8))
  }

  /// Arguments, what the shell does first, and the message of the error.
  private static let badUsages: [([String], String, String)] = {
    let url = "http://127.0.0.1:1/x"
    return [
      (["--timeout", "0", url], "", "--timeout must be a positive number of seconds"),
      (["--deadline", "nan", url], "", "--deadline must be a positive number of seconds"),
      (["--retries=-1", url], "", "--retries must be from 0 to 1000000"),
      (["--retries", "\(Int.max)", url], "", "--retries must be from 0 to 1000000"),
      (["--concurrency", "\(Int.max)", url], "", "--concurrency must be from 1 to 100000"),
      (["--per-host", "0", url], "", "--per-host must be at least 1"),
      (["--header", "a b: c", url], "", "--header needs"),
      (["--header", "Range: bytes=0-9", url], "", "--header can't set Range"),
      (["--header", "if-range: x", url], "", "--header can't set if-range"),
      (["--header", "Host: h", url], "", "--header can't set Host"),
      (["--cacert", "/nonexistent", url], "", "/nonexistent can't be read"),
      (["--cacert", "/dev/null", url], "", "no certificate"),
      (["--directory", "/etc/passwd", url], "", "cannot create /etc/passwd"),
      (["-o", "/tmp", url], "", "/tmp is a folder"),
      (["-o", "x", url, url + "y"], "", "is for one download"),
      (["ftp//nonsense"], "", "nonsense"),
      (["\u{1B}[31m\u{9B}31m"], "", "\u{FFFD}[31m\u{FFFD}31m"),
      ([], "", "There is no file to download"),
      (["--quiet", ""], "", "There is no file to download"),
      (["--list", "/dev/null"], "", "There is no file to download"),
      (["--list", "/nonexistent"], "", "cannot read /nonexistent: No such file or directory"),
      (["--list", "/"], "", "cannot read /: Is a directory"),
      (["--list", "-"], "exec <&-", "standard input"),
      (["--list", "list"], #"printf '\nhttp://a/caf\351.txt' >list"#, "list:2: "),
      ([url], "export all_proxy=socks5://me:secret@127.0.0.1:1", "not the URL of an HTTP proxy"),
    ]
  }()

  @Test(arguments: badUsages)
  func badUsage_isExplained_beforeAnythingIsWritten(
    arguments: [String], setup: String, message: String
  ) async throws {
    let output = try await folder.fetch(
      arguments, setup: setup.isEmpty ? "true" : setup, status: 64)
    #expect(output.contains(message))
    #expect(!output.contains("secret"))
    #expect(try folder.names.allSatisfy { $0 == "list" })
  }
}
