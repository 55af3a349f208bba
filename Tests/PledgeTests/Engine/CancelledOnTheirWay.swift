@_spi(DropIns) @testable import Pledge

/// Handlers of a settled promise that are cancelled just before their executor runs them.
///
/// This crashed in optimized code, in which the compiler moves a retain.
@Suite(.apart) struct CancelledOnTheirWay {
  static let rounds = isFullRun ? 200_000 : 50_000

  @Test(arguments: [Place.global, .serialQueue])
  func handlersOfASettledPromise(place: Place) async throws {
    let settled = Promise.value(1)
    for _ in 0..<Self.rounds / 2 {
      settled.map(on: place.executor) { $0 }.cancel()
      settled.tap(on: place.executor) { _ in }.cancel()
    }
    #expect(try await settled.map(on: place.executor) { $0 + 1 }.value == 2)
  }
}
