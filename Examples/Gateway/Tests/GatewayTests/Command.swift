import AsyncHTTPClient
import Foundation
import NIOCore
import Pledge
import Testing

/// The program, and the signals that it receives.
@Suite struct CommandTests {
  @Test func theProgram_showsWhatIsPending_andAnswersBeforeItEnds() async throws {
    let process = try GatewayProcess("--port", "0", "--drain", "0.5")
    let address = try await process.address.value
    // Each price takes a while, so a request is pending when the signals arrive.
    _ = try await post("\(address)/faults/prices?stalls=1&stall=1500")
    async let page = get("\(address)/page/7")
    while try await !get("\(address)/metrics").1.contains(#"{backend="prices",endpoint="page"} 1"#)
    {}
    process.send(SIGUSR1)
    let tree = try await process.errors.text(containing: "page 7").value
    #expect(tree.contains("Pending: "))
    process.send(SIGTERM)
    #expect(try await page.0 == 200)
    #expect(try await process.status.value == 0)
  }

  private func get(_ url: String) async throws -> (UInt, String) {
    try await answer(HTTPClientRequest(url: url))
  }

  private func post(_ url: String) async throws -> (UInt, String) {
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    return try await answer(request)
  }

  private func answer(_ request: HTTPClientRequest) async throws -> (UInt, String) {
    let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
    return (response.status.code, String(buffer: try await response.body.collect(upTo: 1 << 20)))
  }
}
