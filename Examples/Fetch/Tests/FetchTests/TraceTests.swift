import Foundation
import Testing

/// The option --trace.
@Suite(.serialized) struct TraceTests {
  private func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      component: "fetch-trace-\(UUID().uuidString)", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  @Test func trace_isWritten_inTheFormatOfItsExtension() async throws {
    try await withFolder { folder in
      let json = folder.appending(component: "trace.json")
      let server = try await RawServer { _ in "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" }
      let arguments = ["http://127.0.0.1:\(server.port)/x", "--trace", json.path()]
      let ending = try await FetchProcess(arguments + ["--directory", folder.path()], in: folder)
        .ending()
      await server.stop()
      #expect(ending.status == 0, "\(ending.output)")
      #expect(ending.output.contains("is in \(json.path())"))
      let file = try JSONSerialization.jsonObject(with: Data(contentsOf: json))
      let events = (file as? [String: Any])?["traceEvents"] as? [[String: Any]] ?? []
      #expect(events.contains { $0["cat"] as? String == "handler" })

      let html = folder.appending(component: "trace.html")
      let failing = ["http://127.0.0.1:1/x", "--retries", "0", "--directory", folder.path()]
      let failure = try await FetchProcess(failing + ["--trace", html.path()], in: folder).ending()
      #expect(failure.status == 1, "the status is that of the downloads")
      #expect(try String(contentsOf: html, encoding: .utf8).hasPrefix("<!doctype html>"))
    }
  }

  @Test(arguments: ["trace.txt", "trace", "none/trace.json"])
  func traceThatCannotBeWritten_isAnErrorBeforeAnythingStarts(name: String) async throws {
    try await withFolder { folder in
      let files = folder.appending(component: "files", directoryHint: .isDirectory)
      let ending = try await FetchProcess(
        ["http://127.0.0.1:1/x", "--directory", files.path(), "--trace", folder.path() + name],
        in: folder
      ).ending()
      #expect(ending.status == 64)
      #expect(ending.output.contains("--trace: "))
      #expect(!FileManager.default.fileExists(atPath: files.path()))
    }
  }
}
