import Pledge
import PledgeTesting
import Testing

@testable import importer

@Suite struct ImporterTests {
  private let clock = TestClock()
  private let requests = Recorder<String>()
  private let database = MemoryDatabase()

  private func run(_ shop: any Shop) async throws -> Int {
    let importer = Importer(shop, clock: clock) { [database] in database }
    let count = Promise { try await importer.run() }
    await clock.run(until: count)
    return try await count.value
  }

  private func shop() -> SimulatedShop {
    SimulatedShop(clock: clock, log: { [requests] in requests.record($0) })
  }

  @Test func items_areComplete_inOrder_withConvertedPrices() async throws {
    #expect(try await run(shop()) == 30)
    let expected = (0..<30).map { Item(name: "item \($0)", price: 1) }
    #expect(await database.items == expected)
    #expect(await database.isClosed)
  }

  @Test func requests_shareOneToken_andBusyPagesAreRequestedAgain() async throws {
    _ = try await run(shop())
    let events = requests.events
    #expect(events.filter { $0.hasPrefix("sign in") } == ["sign in"])
    #expect(events.filter { $0.hasPrefix("page") && $0.hasSuffix("request 2") }.count == 5)
    #expect(events.contains("exchange rate stalled, and was cancelled"))
    #expect(events.contains("page 5 stalled, and was cancelled"))
  }

  private struct ClosedShop: Shop {
    struct Closed: Error {}

    func signIn() throws -> String { "secret" }
    func exchangeRate() -> Double { 1 }
    func pageCount(token: String) -> Int { 3 }
    func page(_ number: Int, token: String) throws -> [Item] { throw Closed() }
  }

  @Test func run_whenThePagesFail_closesTheDatabase_andThrowsTheError() async throws {
    await #expect(throws: ClosedShop.Closed.self) { try await run(ClosedShop()) }
    #expect(await database.isClosed)
    #expect(await database.items.isEmpty)
  }
}
