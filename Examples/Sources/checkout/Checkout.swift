import Foundation
import Pledge
import PledgeFoundation

// Step 1: each kind of callback becomes a promise, in one place.

extension CardReader {
  /// Waits for a card, which the reader reports to its delegate.
  func nextCard() -> Promise<Card> {
    let (card, resolver) = Promise<Card>.withResolvers()
    let listener = Listener(resolver)
    delegate = listener
    turnOn()
    // The reader refers to its delegate weakly: this handler keeps it until the promise settles.
    // It also runs after a cancellation.
    return card.finally { [self] in withExtendedLifetime(listener) { turnOff() } }
  }

  private final class Listener: CardReaderDelegate {
    private let resolver: Resolver<Card>

    init(_ resolver: Resolver<Card>) { self.resolver = resolver }

    func cardReader(_ reader: CardReader, didRead card: Card) { resolver.fulfill(card) }
    func cardReader(_ reader: CardReader, didFail error: any Error) { resolver.reject(error) }
  }
}

extension Bank {
  /// Requests an authorization, which the bank passes to a completion handler.
  func authorize(_ amount: Int, of card: Card) -> Promise<Receipt> {
    Promise { resolver in
      let request = authorize(amount, of: card) { receipt, error in
        resolver.resolve(receipt, error)
      }
      resolver.onCancel { request.cancel() }
    }
  }
}

extension Printer {
  struct PaperIsOut: Error {}

  /// Prints a receipt; the printer posts a notification when it has, or can't.
  func printed(_ receipt: Receipt) -> Promise<Void> {
    let center = NotificationCenter.default
    // The observers come first, because the printer can be quick. The one that loses is removed.
    let printed = center.next(.receiptPrinted, object: self) { notification in
      notification.userInfo?["authorization"] as? Int == receipt.authorization ? () : nil
    }
    let failed = center.next(.paperIsOut, object: self).map { _ in throw PaperIsOut() }
    print(receipt)
    return Promise.race(printed.promise, failed)
  }
}

struct Checkout: Sendable {
  let reader: CardReader
  let bank: Bank
  let printer: Printer
  var clock: any Clock<Duration> = ContinuousClock()
  /// The time that a customer has to present a card.
  var patience = Duration.seconds(30)

  private var retries: RetryPolicy {
    .fixed(attempts: 3, delay: .milliseconds(500))
      .retrying { error in error as? Bank.Refusal == .busy }
  }

  // Step 2: a sale is a chain. It needs no `async` caller.

  /// Returns a promise that is fulfilled when a receipt is printed.
  func sale(for amount: Int) -> Promise<Receipt> {
    reader.nextCard()
      .timeout(after: patience, clock: clock)
      .then { card in
        Promise.retry(retries, clock: clock) { bank.authorize(amount, of: card) }
      }
      .then { receipt in printer.printed(receipt).map { receipt } }
  }

  // Step 3: the same sale as an `async` function, once its caller is one. The wrappers stay.

  /// Sells something; returns when the receipt is printed.
  func sell(for amount: Int) async throws -> Receipt {
    let card = try await reader.nextCard().timeout(after: patience, clock: clock).value
    let receipt = try await retry(retries, clock: clock) {
      try await bank.authorize(amount, of: card).value
    }
    try await printer.printed(receipt).value
    return receipt
  }
}

@main
struct Command {
  static func main() async {
    // The simulated kit calls back after a fifth of a second.
    let later: CallBack = { DispatchQueue.global().asyncAfter(deadline: .now() + 0.2, execute: $0) }
    let reader = CardReader { event in print("  card reader: \(event)") }
    let checkout = Checkout(
      reader: reader, bank: Bank(refusing: [.busy, nil, .declined], callBack: later),
      printer: Printer(sheets: 2, callBack: later), patience: .seconds(2))

    var receipts: [Receipt] = []
    func serve(_ title: String, hasCard: Bool = true, _ sale: () async throws -> Receipt) async {
      if hasCard { later { reader.present(Card(number: title)) } }
      do {
        receipts.append(try await sale())
        print("\(title): receipt for \(receipts.last?.amount ?? 0)")
      } catch {
        print("\(title): \(error)")
      }
    }
    await serve("The bank is busy once") { try await checkout.sale(for: 19).value }
    await serve("The bank declines the card") { try await checkout.sale(for: 29).value }
    await serve("No card is presented", hasCard: false) { try await checkout.sale(for: 39).value }
    await serve("An async function sells") { try await checkout.sell(for: 49) }
    await serve("The paper is out") { try await checkout.sell(for: 59) }
    exit(receipts.map(\.amount) == [19, 49] ? 0 : 1)
  }
}
