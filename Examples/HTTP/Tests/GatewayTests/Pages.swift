import Pledge
import Testing

@testable import gateway

@Suite struct PageTests {
  @Test(arguments: RunningServer.endpoints)
  func aPage_isGatheredFromThreeBackends(endpoint: String) async throws {
    try await withServer { server in
      let answer = try await server.get("\(endpoint)/7")
      #expect(answer.status == 200)
      let page = Page(
        product: Product(id: 7, name: "Lamp 7"), price: Price(cents: 1006),
        reviews: [Review(stars: 3, text: "It shines.")])
      #expect(try answer.page() == page)
      #expect(server.backends.all.map(\.calls) == [1, 1, 1])
    }
  }

  @Test(arguments: RunningServer.endpoints)
  func aPageWithoutReviews_isBetterThanNone(endpoint: String) async throws {
    let fate: @Sendable (String, UnreliableBackend.Call) -> Fate = { backend, _ in
      backend == "reviews" ? .fail : .answer(after: .zero)
    }
    try await withServer(fate: fate) { server in
      let page = try await server.get("\(endpoint)/7").page()
      #expect(page.product.id == 7)
      #expect(page.reviews == nil)
      #expect(server.backends.reviews.calls == 3)
    }
  }

  @Test(arguments: RunningServer.endpoints)
  func aFailedCall_isRetried_untilTheBudgetIsSpent(endpoint: String) async throws {
    let fate: @Sendable (String, UnreliableBackend.Call) -> Fate = { backend, call in
      guard backend == "prices" else { return .answer(after: .zero) }
      // The first call of page 7 fails, and all calls of other pages.
      return call.id == 7 && call.number > 1 ? .answer(after: .zero) : .fail
    }
    try await withServer(fate: fate) { server in
      let page = try await server.get("\(endpoint)/7")
      #expect(page.status == 200)
      #expect(server.backends.prices.calls == 2)
      for id in 100..<120 { #expect(try await server.get("\(endpoint)/\(id)").status == 502) }
      // 20 first attempts, and 20 retries in total, because the budget is 20.
      #expect(server.backends.prices.calls == 1 + 20 + 20)
    }
  }

  @Test(arguments: RunningServer.endpoints)
  func aStalledCall_isOvertaken_andHangsUp(endpoint: String) async throws {
    let hangUp = Event()
    var settings = Settings.test
    settings.hedgeDelay = .milliseconds(20)
    let fate: @Sendable (String, UnreliableBackend.Call) -> Fate = { backend, call in
      backend == "prices" && call.number == 1
        ? .stall(untilHangUp: hangUp) : .answer(after: .zero)
    }
    try await withServer(settings, fate: fate) { server in
      #expect(try await server.get("\(endpoint)/7").status == 200)
      #expect(server.backends.prices.calls == 2)
      try await hangUp.wait()
      #expect(try await server.metric(#"backend_hedges_total{backend="prices"}"#) == 1)
    }
  }

  @Test(arguments: RunningServer.endpoints)
  func aDeadline_followsTheRequest_andEndsItsCalls(endpoint: String) async throws {
    let (hangUp, deadlines) = (Event(), Event())
    // The gateway's own deadline is an hour.
    let longest = 10_000
    let fate: @Sendable (String, UnreliableBackend.Call) -> Fate = { backend, call in
      guard backend == "prices" else { return .answer(after: .zero) }
      if let deadline = call.deadline, deadline <= longest { deadlines.happens() }
      return .stall(untilHangUp: hangUp)
    }
    try await withServer(fate: fate) { server in
      // On a busy machine, a short deadline can pass before the backend is called.
      var patience = 300
      repeat {
        let headers = [Deadline.header: "\(patience)"]
        #expect(try await server.get("\(endpoint)/7", headers).status == 504)
        patience *= 2
      } while !deadlines.hasHappened && patience <= longest
      #expect(deadlines.hasHappened)
      try await hangUp.wait()
    }
  }

  @Test(arguments: RunningServer.endpoints)
  func aFullQueue_rejects_andTheGatewaySaysSo(endpoint: String) async throws {
    let (arrival, opening) = (Event(), Event())
    var settings = Settings.test
    settings.concurrency = 1
    settings.queueCapacity = 0
    let fate = Fate.holding("prices", until: opening, noting: arrival)
    try await withServer(settings, fate: fate) { server in
      async let first = server.get("\(endpoint)/1")
      try await arrival.wait()
      let second = try await server.get("\(endpoint)/1")
      #expect(second.status == 503)
      #expect(second.headers["retry-after"] == "1")
      #expect(try await server.metric(#"backend_rejected_total{backend="prices"}"#) == 1)
      opening.happens()
      #expect(try await first.status == 200)
    }
  }
}
