import FetchTestSupport
import Foundation
import Testing

/// The option --trace.
@Suite(.serialized) struct TraceTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  @Test func trace_isWritten_inTheFormatOfItsExtension() async throws {
    let server = try await RawServer { _ in "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" }
    let url = "http://127.0.0.1:\(server.port)/x"
    let ending = try await folder.fetch([url, "--trace", "trace.json"])
    await server.stop()
    #expect(ending.status == 0, "\(ending.output)")
    #expect(ending.output.contains("is in trace.json"))
    let file = try JSONSerialization.jsonObject(with: Data(contentsOf: folder.file("trace.json")))
    let events = (file as? [String: Any])?["traceEvents"] as? [[String: Any]] ?? []
    #expect(events.contains { $0["cat"] as? String == "handler" })

    let failure = try await folder.fetch(
      ["http://127.0.0.1:1/x", "--retries", "0", "--trace", "trace.html"])
    #expect(failure.status == 1, "the status is that of the downloads")
    #expect(try folder.text("trace.html").hasPrefix("<!doctype html>"))
  }

  @Test(arguments: ["trace.txt", "trace", "none/trace.json"])
  func traceThatCannotBeWritten_isAnErrorBeforeAnythingStarts(name: String) async throws {
    let ending = try await folder.fetch(["http://127.0.0.1:1/x", "-d", "files", "--trace", name])
    #expect(ending.status == 64)
    #expect(ending.output.contains("--trace: "))
    #expect(try folder.names.isEmpty)
  }
}
