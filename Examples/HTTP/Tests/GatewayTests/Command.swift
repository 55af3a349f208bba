import AsyncHTTPClient
import Foundation
import Pledge
import Testing

@testable import gateway

/// The program, and the signals that it receives.
@Suite struct CommandTests {
  @Test func theProgram_answersBeforeItEnds() async throws {
    let process = try GatewayProcess("--port", "0", "--drain", "0.5")
    let address = try await process.address.value
    // Each price takes a while, so a request is pending when the signal arrives.
    var faults = HTTPClientRequest(url: "\(address)/faults/prices?stalls=1&stall=1500")
    faults.method = .POST
    _ = try await Answer(to: faults)
    async let page = get("\(address)/page/7")
    let call = #"{backend="prices"} 1"#
    while try await !get("\(address)/metrics").text.contains(call) {}
    process.send(SIGTERM)
    #expect(try await page.status == 200)
    #expect(try await process.status.value == 0)
  }

  @Test(arguments: RunningServer.endpoints)
  func spans_areLinesOfJSON_andThoseOfCallsBelongToThePage(endpoint: String) async throws {
    let process = try GatewayProcess("--port", "0", "--drain", "0", "--spans", "--no-trace")
    let address = try await process.address.value
    _ = try await get("\(address)/\(endpoint)/7")
    process.send(SIGTERM)
    #expect(try await process.status.value == 0)
    let text = try await process.errors.text(containing: #""name":"page""#).value
    let spans = try text.split(separator: "\n").filter { $0.hasPrefix("{") }.map {
      try JSONDecoder().decode(SpanExport.Line.self, from: Data($0.utf8))
    }
    let page = try #require(spans.first { $0.name == "page" })
    #expect(page.parent == nil)
    for name in ["products", "reviews", "prices"] {
      let call = try #require(spans.first { $0.name == name })
      #expect(call.trace == page.trace && call.parent == page.span && call.milliseconds > 0)
    }
  }

  private func get(_ url: String) async throws -> Answer {
    try await Answer(to: HTTPClientRequest(url: url))
  }
}
