import Foundation
import Pledge
import PledgeTesting
import Testing

@testable import checkout

@Suite struct CheckoutTests {
  private let clock = TestClock()
  private let reader = CardReader()
  private let card = Card(number: "1")

  private func checkout(_ refusals: [Bank.Refusal] = [], sheets: Int = 1) -> Checkout {
    Checkout(
      reader: reader, bank: Bank(refusing: refusals) { callBack in callBack() },
      printer: Printer(sheets: sheets) { callBack in callBack() }, clock: clock)
  }

  @Test func sale_whenTheBankIsBusyTwice_isRetried_andTheReaderIsOff() async throws {
    let sale = checkout([.busy, .busy]).sale(for: 10)
    reader.present(card)
    await clock.run(until: sale)
    try await expectFulfillment(of: sale, with: Receipt(amount: 10, authorization: 4711))
    #expect(!reader.isOn)
  }

  @Test func sale_whenTheBankDeclines_failsWithoutRetry() async throws {
    let sale = checkout([.declined]).sale(for: 10)
    reader.present(card)
    try await expectRejection(of: sale, with: Bank.Refusal.declined)
  }

  @Test func sale_whenNoCustomerComes_timesOut_andTheReaderIsOff() async throws {
    let sale = checkout().sale(for: 10)
    await clock.sleepers(atLeast: 1)
    #expect(reader.isOn)
    await clock.advance(by: .seconds(30))
    try await expectRejection(of: sale, with: TimeoutError.self)
    try await waitUntil { !reader.isOn }
  }

  @Test func sale_whenTheCardIsUnreadable_fails() async throws {
    let sale = checkout().sale(for: 10)
    reader.present(nil)
    try await expectRejection(of: sale, with: CardReader.Failure.unreadable)
  }

  @Test func asyncSale_whenThePaperIsOut_fails() async throws {
    let checkout = checkout(sheets: 0)
    let sale = Task { try await checkout.sell(for: 10) }
    try await waitUntil { reader.isOn }
    reader.present(card)
    await #expect(throws: Printer.PaperIsOut.self) { try await sale.value }
  }

  @Test func asyncSale_whenItsTaskIsCancelled_turnsTheReaderOff() async throws {
    let checkout = checkout()
    let sale = Task { try await checkout.sell(for: 10) }
    try await waitUntil { reader.isOn }
    sale.cancel()
    await #expect(throws: CancellationError.self) { try await sale.value }
    try await waitUntil { !reader.isOn }
  }
}
