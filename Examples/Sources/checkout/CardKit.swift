import Foundation
import Synchronization

// The kit of a card terminal's vendor, as it could be: a delegate, a completion handler, and
// notifications. The terminal is simulated.

struct Card: Sendable {
  var number: String
}

struct Receipt: Sendable, Equatable {
  var amount: Int
  var authorization: Int
}

/// How the kit calls back.
typealias CallBack = @Sendable (@escaping @Sendable () -> Void) -> Void

protocol CardReaderDelegate: AnyObject, Sendable {
  func cardReader(_ reader: CardReader, didRead card: Card)
  func cardReader(_ reader: CardReader, didFail error: any Error)
}

final class CardReader: Sendable {
  enum Failure: Error {
    case unreadable
  }

  private struct State {
    weak var delegate: (any CardReaderDelegate)?
    var isOn = false
  }

  private let state = Mutex(State())
  private let log: @Sendable (_ event: String) -> Void

  init(log: @escaping @Sendable (_ event: String) -> Void = { _ in }) { self.log = log }

  /// The delegate, to which the reader refers weakly.
  var delegate: (any CardReaderDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  var isOn: Bool { state.withLock { $0.isOn } }

  func turnOn() {
    state.withLock { $0.isOn = true }
    log("on")
  }

  func turnOff() {
    state.withLock { $0.isOn = false }
    log("off")
  }

  /// Simulates a customer who presents a card; nil for one that can't be read.
  func present(_ card: Card?) {
    guard isOn, let delegate else { return }
    if let card {
      delegate.cardReader(self, didRead: card)
    } else {
      delegate.cardReader(self, didFail: Failure.unreadable)
    }
  }
}

final class Bank: Sendable {
  enum Refusal: Error {
    case busy, declined
  }

  /// A request that can be cancelled.
  final class Request: Sendable {
    private let isCancelled = Atomic(false)

    var isActive: Bool { !isCancelled.load(ordering: .relaxed) }

    func cancel() { isCancelled.store(true, ordering: .relaxed) }
  }

  private let refusals: Mutex<[Refusal?]>
  private let callBack: CallBack

  /// Creates a bank that refuses the first requests; nil stands for one that it accepts.
  init(refusing refusals: [Refusal?] = [], callBack: @escaping CallBack) {
    self.refusals = Mutex(refusals)
    self.callBack = callBack
  }

  func authorize(
    _ amount: Int, of card: Card,
    completion: @escaping @Sendable (Receipt?, (any Error)?) -> Void
  ) -> Request {
    let request = Request()
    let refusal = refusals.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    callBack {
      guard request.isActive else { return }
      let receipt = Receipt(amount: amount, authorization: 4711)
      completion(refusal == nil ? receipt : nil, refusal)
    }
    return request
  }
}

extension Notification.Name {
  static let receiptPrinted = Notification.Name("receiptPrinted")
  static let paperIsOut = Notification.Name("paperIsOut")
}

final class Printer: Sendable {
  let sheets: Mutex<Int>
  private let callBack: CallBack

  init(sheets: Int, callBack: @escaping CallBack) {
    self.sheets = Mutex(sheets)
    self.callBack = callBack
  }

  /// Prints a receipt, and posts a notification with its authorization, or that the paper is out.
  func print(_ receipt: Receipt) {
    let hasPaper = sheets.withLock { sheets in
      sheets -= 1
      return sheets >= 0
    }
    callBack {
      NotificationCenter.default.post(
        name: hasPaper ? .receiptPrinted : .paperIsOut, object: self,
        userInfo: ["authorization": receipt.authorization])
    }
  }
}
