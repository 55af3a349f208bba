import PledgeTesting
import Testing

@testable import Pledge

/// A promise that the producer of its source cancels is released: the rejection that it gets doesn't
/// name it.
@Suite struct CancelledByTheirProducer {
  /// `@unchecked Sendable`: set before another thread reads it.
  private final class Weak: @unchecked Sendable {
    weak var cell: Cell?
  }

  @Test(arguments: ["map", "two maps", "finallyThen", "then", "all"])
  func promise_isReleased(form: String) async throws {
    let reference = Weak()
    do {
      let (source, resolver) = Promise<Int>.withResolvers()
      let promise =
        switch form {
        case "map": source.map(on: .immediate) { $0 }
        case "two maps": source.map(on: .immediate) { $0 }.map(on: .immediate) { $0 }
        case "finallyThen": source.finallyThen { Promise.value(()) }
        case "then": Promise.value(1).then(on: .immediate) { _ in source }
        default: Promise.all([source]).map(on: .immediate) { $0[0] }
        }
      reference.cell = promise.cell
      resolver.onCancel { promise.cancel() }
      source.cancel()
      _ = await promise.result
    }
    try await waitUntil { reference.cell == nil }
  }
}
