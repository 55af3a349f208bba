import Dispatch
import Pledge
import PromiseKit
import Promises
import Testing

/// A value that passes through all three modules, which share its promise.
@Suite struct TogetherTests {
  private let queue = DispatchQueue(label: "together")

  @Test func valuePassesThroughAllThree() async throws {
    let google = Promises.Promise<Int>(on: queue) { 20 }.then(on: queue) { $0 + 1 }
    let kit = google.pledge.promiseKit.map(on: queue) { $0 * 2 }
    let pledge: Pledge.Promise<String> = kit.pledge.map(on: queue) { "\($0)" }
    #expect(try await pledge.value == "42")
  }

  @Test func errorPassesThroughAllThree() async throws {
    struct Refused: Error {}
    let pledge = Pledge.Promise<Int>.rejected(Refused())
    let kit = pledge.promiseKit.map(on: queue) { $0 + 1 }
    let google = Promises.Promise(pledge: kit.pledge).then(on: queue) { $0 + 1 }
    await #expect(throws: Refused.self) { try await google.pledge.value }
  }

  @Test func combinatorTakesAllThree() async throws {
    let values = try await Pledge.Promise.all([
      Pledge.Promise.value(1),
      PromiseKit.Promise.value(2).pledge,
      Promises.Promise(3).pledge,
    ]).value
    #expect(values == [1, 2, 3])
  }
}
