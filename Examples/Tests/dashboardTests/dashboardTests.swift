import Pledge
import PledgeTesting
import Testing

@testable import dashboard

@Suite struct DashboardTests {
  private struct Down: Error {}

  private let clock = TestClock()

  @Test func page_whenARequestStalls_showsTheResponseOfTheSecondOne() async throws {
    let requests = Recorder<String>()
    let dashboard = Dashboard(of: ["news", "mail"], clock: clock) { [clock] service in
      requests.record(service)
      let isFirst = requests.events.filter { $0 == service }.count == 1
      // The first request for news stalls.
      let time = Duration.milliseconds(service == "news" && isFirst ? 900 : 10)
      return Promise.after(time, clock: clock).map { _ in service }
    }
    let page = dashboard.page()
    await clock.run(until: page)
    #expect(await page.value == ["news": .fresh("news"), "mail": .fresh("mail")])
    #expect(clock.now.offset == .milliseconds(110))
    #expect(requests.events.sorted() == ["mail", "news", "news"])
  }

  @Test func page_whenAServiceFails_showsItsLastResponse() async throws {
    let isDown = Recorder<Void>()
    let dashboard = Dashboard(of: ["news", "mail"], clock: clock) { service in
      service == "news" && !isDown.events.isEmpty ? .rejected(Down()) : .value(service)
    }
    #expect(await dashboard.page().value["news"] == .fresh("news"))
    isDown.record(())
    let page = dashboard.page()
    await clock.run(until: page)
    #expect(await page.value == ["news": .stale("news"), "mail": .fresh("mail")])
  }

  @Test func page_whenAServiceKeepsFailing_sendsItNoMoreRequests() async throws {
    let requests = CallCounter()
    let dashboard = Dashboard(of: ["news", "mail"], clock: clock) { service in
      if service == "mail" { return .value(service) }
      requests.call()
      return .rejected(Down())
    }
    for _ in 1...10 {
      let page = dashboard.page()
      await clock.run(until: page)
      #expect(await page.value == ["news": .missing, "mail": .fresh("mail")])
    }
    try requests.expect(5)
    await clock.advance(by: .seconds(10))
    let page = dashboard.page()
    await clock.run(until: page)
    try requests.expect(6)
  }

  @Test func page_whenAServiceStopsAnswering_endsInTime_andLaterOnesDoNotWait() async throws {
    let requests = CallCounter()
    let dashboard = Dashboard(of: ["news", "mail"], clock: clock) { service in
      if service == "mail" { return .value(service) }
      requests.call()
      return .never
    }
    let first = Guarantee.all((1...4).map { _ in dashboard.page() })
    await clock.run(until: first)
    #expect(
      await first.value
        == Array(repeating: ["news": .missing, "mail": .fresh("mail")], count: 4))
    #expect(clock.now.offset == .seconds(3))
    // A request and a hedge for each page.
    try requests.expect(8)
    let next = dashboard.page()
    await clock.run(until: next)
    #expect(await next.value["news"] == .missing)
    #expect(clock.now.offset == .seconds(3), "the breaker is open")
    try requests.expect(8)
  }
}
