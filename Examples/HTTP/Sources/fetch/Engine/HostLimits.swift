import Foundation
import Pledge

/// Limits the number of connections to each host.
final class HostLimits: Sendable {
  /// A slot for one connection to a host; it becomes free when this object is deallocated.
  private final class Slot: Sendable {
    private let end: Resolver<Void>

    init(_ end: Resolver<Void>) { self.end = end }
    deinit { end.fulfill() }
  }

  /// A response that occupies its slot until it is released, and while its body arrives.
  private struct Held: Answer {
    let answer: any Answer
    let slot: Slot

    var head: AnswerHead { answer.head }

    func body(_ receive: @escaping Receiver) -> Promise<Void> {
      answer.body(receive).finally(on: .immediate) { [slot] in withExtendedLifetime(slot) {} }
    }
  }

  private let limiters: KeyedLimiter<String>?

  /// Creates limits; nil means no limit.
  init(_ limit: Int?) { limiters = limit.map { limit in KeyedLimiter { _ in Limiter(limit) } } }

  /// Calls `request` as soon as a connection to the host of `url` is available.
  func whenFree(
    _ url: URL, _ request: @escaping @Sendable () -> Promise<any Answer>
  ) -> Promise<any Answer> {
    guard let limiters else { return request() }
    let limiter = limiters.limiter(for: "\(url.host() ?? ""):\(url.port ?? 0)")
    let (slot, resolver) = Promise<Slot>.withResolvers()
    let use = limiter.run(on: .immediate) {
      let (promise, end) = Promise<Void>.withResolvers()
      // If the promise for the slot was cancelled, the slot is free immediately.
      resolver.fulfill(Slot(end))
      return promise
    }
    resolver.onCancel { use.cancel() }
    return slot.then(on: .immediate) { slot in
      request().map(on: .immediate) { Held(answer: $0, slot: slot) }
    }
  }
}
