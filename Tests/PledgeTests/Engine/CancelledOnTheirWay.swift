import Dispatch
import Testing

@_spi(DropIns) @testable import Pledge

/// Handlers of a settled promise that are cancelled just before their executor runs them.
///
/// This crashed in optimized code, in which the compiler moves a retain.
@Suite(.apart) struct CancelledOnTheirWay {
  static let rounds = isFullRun ? 200_000 : 50_000

  @Test func onTheGlobalQueue() async throws {
    let settled = Promise.value(1)
    for _ in 0..<Self.rounds { settled.map(on: .global) { $0 }.cancel() }
    #expect(try await settled.map(on: .global) { $0 + 1 }.value == 2)
  }

  @Test func onASerialQueue() async throws {
    let queue = DispatchQueue(label: "serial")
    let settled = Promise.value(1)
    for _ in 0..<Self.rounds { settled.tap(on: queue) { _ in }.cancel() }
    #expect(try await settled.map(on: queue) { $0 + 1 }.value == 2)
  }
}
