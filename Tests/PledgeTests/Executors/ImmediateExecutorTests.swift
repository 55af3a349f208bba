@_spi(DropIns) import Pledge

@Suite struct ImmediateExecutorTests {
  private let events = Recorder<String>()

  /// Calls `body` inside 24 nested handlers, the most that aren't deferred.
  private func nested(_ body: @escaping @Sendable () -> Void) {
    @Sendable func nest(_ depth: Int) {
      guard depth > 0 else { return body() }
      Promise.value(depth).done(on: .immediate) { nest($0 - 1) }.ignoreErrors()
    }
    nest(24)
  }

  @Test func runDeferredHandlers_runsThoseThatNestTooDeep_inOrder() {
    nested { [events] in
      let promise = Promise.value(1)
      promise.done(on: .immediate) { _ in events.record("first") }.ignoreErrors()
      promise.done(on: .immediate) { _ in events.record("second") }.ignoreErrors()
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
    }.ignoreErrors()
    #expect(events.events == ["begin", "end"])
  }
}
