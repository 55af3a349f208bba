import Pledge
import PledgeTesting
import Testing

// The examples of TestingPromises.md, and tests of what it says.

private func openArchive() -> Promise<Page> { .rejected(Offline()) }

final class Wallet: Sendable {
  private let entries = Recorder<Int>()

  var balance: Int { entries.events.last ?? 0 }

  func pay(_ amount: Int, on executor: some PromiseExecutor) -> Promise<Void> {
    Promise.value(amount)
      .map(on: executor) { [self] amount in balance + amount }
      .done(on: executor) { [self] newBalance in entries.record(newBalance) }
  }
}

@Sendable private func payTwice(in simulation: Simulation) async throws {
  let wallet = Wallet()
  let first = wallet.pay(10, on: simulation.executor("till"))
  let second = wallet.pay(20, on: simulation.executor("office"))
  _ = try await Promise.all(first, second).value
  try simulation.expect(wallet.balance == 30, "The balance is \(wallet.balance).")
}

@MainActor
final class Headlines {
  private(set) var text = ""

  @discardableResult
  func load(
    _ news: Promise<[String]>, clock: any Clock<Duration> = ContinuousClock()
  ) -> Guarantee<Void> {
    news.timeout(after: .seconds(5), clock: clock)
      .done { news in self.text = news.joined() }
      .catch { _ in self.text = "No news" }
  }
}

@Suite struct TestingArticle {
  @Test @MainActor func screenModel() async throws {
    let clock = TestClock()

    let headlines = Headlines()
    let shown = headlines.load(.never, clock: clock)
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .seconds(5))
    await shown.value
    #expect(headlines.text == "No news")

    let (request, resolver) = Promise<[String]>.withResolvers()
    let answered = headlines.load(request)
    resolver.fulfill(["rain"])
    await answered.value
    #expect(headlines.text == "rain")
  }

  @Test func resolverThatIsNotKept_breaksItsPromise() async throws {
    let request = Promise<Int> { resolver in resolver.onCancel {} }
    try await expectRejection(of: request, with: BrokenPromiseError.self)
  }

  @Test func waiting() async throws {
    let user = try await expectFulfillment(of: fetchUser(id: 7))
    try await expectRejection(of: openArchive(), with: Offline.self)

    #expect(user.id == 7)
  }

  @Test func time() async throws {
    let pending = Promise<Page>.withResolvers()
    func slowDownload() -> Promise<Page> { pending.promise }

    let clock = TestClock()
    let limited = slowDownload().timeout(after: .seconds(60), clock: clock)
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .seconds(60))
    #expect(!limited.isPending)

    try await expectRejection(of: limited, with: TimeoutError.self)

    let late = Promise.value("tea").delay(.seconds(3600), clock: clock)
    await clock.run(until: late)

    try await expectFulfillment(of: late, with: "tea")
  }

  private func exploreTheWallet() async throws {
    try await explore { simulation in
      let wallet = Wallet()
      let first = wallet.pay(10, on: simulation.executor("till"))
      let second = wallet.pay(20, on: simulation.executor("office"))
      _ = try await Promise.all(first, second).value
      try simulation.expect(wallet.balance == 30, "The balance is \(wallet.balance).")
    }
  }

  private func replayTheWallet() async throws {
    try await explore(.replay("plain")) { simulation in
      try await payTwice(in: simulation)
    }
  }

  private func exploreAtRandom() async throws {
    try await explore(.random(seed: 42, count: 500)) { simulation in
      try await payTwice(in: simulation)
    }
  }

  @Test func lostPayment_isFound_inTheStepsOfTheArticle() async throws {
    let failure = try await #require(throws: FailingOrderError.self) {
      try await exploreTheWallet()
    }
    #expect(failure.order == "plain")
    #expect(
      failure.description.hasPrefix("The test body failed in order no. 1: The balance is 20."))
    #expect(
      failure.steps == [
        "1. the test", "2. till, made by step 1", "3. office, made by step 1",
        "4. till, made by step 2", "5. office, made by step 3", "6. the test, made by step 5",
      ])
    let again = try await #require(throws: FailingOrderError.self) { try await replayTheWallet() }
    #expect(again.steps == failure.steps)
    await #expect(throws: FailingOrderError.self) { try await exploreAtRandom() }
  }

  @Test func singleSteps() async throws {
    let executor = ManualExecutor()
    let greeting = Promise.value("tea").map(on: executor) { "more \($0)" }
    try expectPending(greeting)
    executor.runAll()
    try await expectFulfillment(of: greeting, with: "more tea")
  }
}
