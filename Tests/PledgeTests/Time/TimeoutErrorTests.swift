import Pledge
import PledgeTesting
import Testing

/// The description of a ``TimeoutError``.
@Suite struct TimeoutErrorTests {
  @Test func description_tellsTheTime_orThatItWasOver() async throws {
    #expect("\(TimeoutError(duration: .seconds(5)))" == "Timed out after 5.0 seconds.")
    #expect(
      "\(TimeoutError(duration: .nanoseconds(990_356)))" == "Timed out after 0.000990356 seconds.")
    let over = "Timed out: the deadline had passed already."
    #expect("\(TimeoutError(duration: .zero))" == over)
    let clock = TestClock()
    await clock.advance(by: .seconds(10))
    let late = Promise<Int>.never.deadline(clock.now.advanced(by: .seconds(-3)), clock: clock)
    guard case .failure(let error) = await late.result else { return }
    #expect("\(error)" == over)
  }
}
