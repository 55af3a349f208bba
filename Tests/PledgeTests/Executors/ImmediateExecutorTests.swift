import Pledge
import PledgeTesting
import Testing

@Suite struct ImmediateExecutorTests {
  private let events = Recorder<String>()

  /// Calls `body` inside 24 nested handlers, the most that aren't deferred.
  private func nested(_ body: @escaping @Sendable () -> Void) {
    @Sendable func nest(_ depth: Int) {
      guard depth > 0 else { return body() }
      Promise.value(depth).done(on: .immediate) { nest($0 - 1) }.cauterize()
    }
    nest(24)
  }

  @Test func runDeferredHandlers_runsThoseThatNestTooDeep_inOrder() {
    nested { [events] in
      let promise = Promise.value(1)
      promise.done(on: .immediate) { _ in events.record("first") }.cauterize()
      promise.done(on: .immediate) { _ in events.record("second") }.cauterize()
      events.record("attached")
      ImmediateExecutor.runDeferredHandlers()
      events.record("end")
    }
    #expect(events.events == ["attached", "first", "second", "end"])
  }

  @Test func runDeferredHandlers_withoutDeferredHandlers_doesNothing() {
    Promise.value(1).done(on: .immediate) { [events] _ in
      events.record("begin")
      ImmediateExecutor.runDeferredHandlers()
      events.record("end")
    }.cauterize()
    #expect(events.events == ["begin", "end"])
  }
}
