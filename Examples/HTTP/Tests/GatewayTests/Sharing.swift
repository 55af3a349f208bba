import Pledge
import Testing

@testable import gateway

/// Calls that several requests share.
@Suite struct SharingTests {
  @Test(arguments: RunningServer.endpoints)
  func requestsForOnePage_shareItsContent_andNotItsPrice(endpoint: String) async throws {
    let allHaveArrived = Event()
    let fate: @Sendable (String, UnreliableBackend.Call) -> Fate = { backend, call in
      if backend == "prices", call.number == 6 { allHaveArrived.happens() }
      return backend == "products" ? .wait(for: allHaveArrived) : .answer(after: .zero)
    }
    try await withServer(fate: fate) { server in
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<6 { group.addTask { try await server.get("\(endpoint)/7").status } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses == Array(repeating: 200, count: 6))
      #expect(server.backends.all.map(\.calls) == [1, 1, 6])
    }
  }

  @Test(arguments: RunningServer.endpoints)
  func staleContent_isServed_whileItIsRefreshed(endpoint: String) async throws {
    let (refresh, opening) = (Event(), Event())
    var settings = Settings.test
    settings.lifetime = .zero
    settings.staleLifetime = .seconds(3600)
    let fate: @Sendable (String, UnreliableBackend.Call) -> Fate = { backend, call in
      guard backend == "products", call.number > 1 else { return .answer(after: .zero) }
      return .wait(for: opening, noting: refresh)
    }
    try await withServer(settings, fate: fate) { server in
      #expect(try await server.get("\(endpoint)/7").status == 200)
      // This receives a response before the refresh ends.
      #expect(try await server.get("\(endpoint)/7").status == 200)
      try await refresh.wait()
      opening.happens()
    }
  }

  @Test(arguments: RunningServer.endpoints)
  func theDeadlineOfOneRequest_doesNotEndWhatOthersWaitFor(endpoint: String) async throws {
    let (arrival, opening) = (Event(), Event())
    let fate = Fate.holding("products", until: opening, noting: arrival)
    try await withServer(fate: fate) { server in
      async let patient = server.get("\(endpoint)/7")
      try await arrival.wait()
      #expect(try await server.get("\(endpoint)/7", [Deadline.header: "50"]).status == 504)
      opening.happens()
      #expect(try await patient.status == 200)
      #expect(server.backends.products.calls == 1)
    }
  }
}
