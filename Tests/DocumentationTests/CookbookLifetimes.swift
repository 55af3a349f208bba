import Pledge
import PledgeTesting
import Testing

// The recipes of Cookbook.md about callbacks, owners, and shutdown.

@Suite struct CookbookLifetimes {
  @Test func callback_fulfills_andCancellationAborts() async throws {
    let requests = Recorder<LegacyRequest>()
    func request() -> Promise<String> {
      send { completion in
        let request = LegacyRequest(completion: completion)
        requests.record(request)
        return request
      }
    }
    let answered = request()
    requests.events[0].answer("hello")
    try await expectFulfillment(of: answered, with: "hello")
    let cancelled = request()
    cancelled.cancel()
    try await expectCancellation(of: cancelled)
    #expect(requests.events[1].isAborted)
  }

  @Test @MainActor func delegate_fulfills_andCancellationStops() async throws {
    let locator = Locator()
    let request = LocationRequest(locator)
    locator.delegate?.locator(locator, didFind: "Oslo")
    try await expectFulfillment(of: request.location, with: "Oslo")
    let other = LocationRequest(locator)
    other.location.cancel()
    try await waitUntil { !locator.isRunning }
    try await expectCancellation(of: other.location)
  }

  @Test @MainActor func screenThatIsGone_cancelsItsWork() async throws {
    let user = Promise<User>.never
    var screen: ProfileScreen? = ProfileScreen()
    screen?.load(user)
    screen = nil
    try await expectCancellation(of: user)
  }

  @Test @MainActor func work_thatIsCancelledWhenItHasArrived_changesNothing() async throws {
    let (scope, title) = (PromiseScope(), Recorder<String>())
    let (user, resolver) = Promise<String>.withResolvers()
    user.done { name in title.record(name) }.bound(to: scope).ignoreErrors()
    resolver.fulfill("Kim")
    scope.cancelAll()
    try await endOfMainQueue()
    #expect(title.events.isEmpty)
  }

  @Test @MainActor func spinner_isVisibleWhileWorkIsSlow() async throws {
    let (clock, spinner) = (TestClock(), Spinner())
    let (work, resolver) = Promise<Int>.withResolvers()
    let shown = work.showing(spinner, clock: clock)
    await clock.sleepers(atLeast: 1)
    await clock.advance(by: .milliseconds(400))
    try await waitUntil { spinner.isVisible }
    resolver.fulfill(1)
    _ = try await shown.value
    #expect(!spinner.isVisible)
  }

  @Test @MainActor func spinner_staysHiddenWhileWorkIsFast() async throws {
    let (clock, spinner) = (TestClock(), Spinner())
    _ = try await Promise.value(1).showing(spinner, clock: clock).value
    await clock.noSleepers()
    #expect(!spinner.isVisible)
  }

  @Test func shutdown_waits_andThenCancels() async throws {
    let (clock, service) = (TestClock(), Service())
    let request = service.handle { .never }
    let down = service.shutDown(within: .seconds(30), clock: clock)
    await clock.sleepers(atLeast: 1)
    try expectPending(request)
    await clock.advance(by: .seconds(30))
    try await expectCancellation(of: request)
    try await expectFulfillment(of: down)
  }
}
