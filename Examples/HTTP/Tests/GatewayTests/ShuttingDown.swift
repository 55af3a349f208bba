import AsyncHTTPClient
import Pledge
import Testing

@testable import gateway

@Suite struct ShutdownTests {
  /// Each client sends requests until a response announces that its connection closes, like clients
  /// behind a load balancer.
  @Test(arguments: RunningServer.endpoints)
  func shutdownUnderLoad_losesNoRequest(endpoint: String) async throws {
    var settings = Settings.test
    settings.drain = .seconds(2)
    let clients = 16
    let calls = Event()
    let fate: @Sendable (String, UnreliableBackend.Call) -> Fate = { backend, call in
      if backend == "prices", call.number == 200 { calls.happens() }
      return .answer(after: .milliseconds(Double(call.id % 5)))
    }
    let counts = try await HTTPClient.withHTTPClient { client in
      try await withServer(settings, fate: fate) { server in
        try await withThrowingTaskGroup(of: Int.self) { group in
          for number in 0..<clients {
            group.addTask {
              for count in 1... {
                let id = number * 1_000_000 + count
                let answer = try await server.get("\(endpoint)/\(id)", client: client)
                #expect(answer.status == 200)
                #expect(try answer.page().product.id == id)
                if answer.headers["connection"] == "close" { return count }
              }
              return 0
            }
          }
          try await calls.wait()
          await server.server.group.triggerGracefulShutdown()
          return try await group.reduce(into: []) { $0.append($1) }
        }
      }
    }
    #expect(counts.count == clients)
    #expect(counts.reduce(0, +) >= 200)
  }

  @Test(arguments: RunningServer.endpoints)
  func aRequestThatIsBeingServed_isAnsweredAfterTheShutdownBegan(endpoint: String) async throws {
    let (arrival, opening) = (Event(), Event())
    let fate = Fate.holding("prices", until: opening, noting: arrival)
    try await withServer(fate: fate) { server in
      async let answer = server.get("\(endpoint)/7")
      try await arrival.wait()
      await server.server.group.triggerGracefulShutdown()
      opening.happens()
      #expect(try await answer.status == 200)
    }
  }

  @Test func healthSaysSo_whileTheGatewayShutsDown() async throws {
    var settings = Settings.test
    settings.drain = .seconds(2)
    try await withServer(settings) { server in
      #expect(try await server.get("health").status == 200)
      await server.server.group.triggerGracefulShutdown()
      // The shutdown begins shortly after the trigger.
      var status = 200
      while status == 200 { status = try await server.get("health").status }
      #expect(status == 503)
    }
  }
}
