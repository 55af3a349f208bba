import Pledge
import PledgeTesting
import Testing

// The recipes of Cookbook.md about callbacks, owners, shutdown and tests.

/// A request of a library that knows nothing of promises.
final class LegacyRequest: Sendable {
  private let events = Recorder<String>()
  private let completion: @Sendable (String?, (any Error)?) -> Void

  init(completion: @escaping @Sendable (String?, (any Error)?) -> Void) {
    self.completion = completion
  }

  var isAborted: Bool { events.events == ["abort"] }
  func abort() { events.record("abort") }
  func answer(_ text: String) { completion(text, nil) }
}

@MainActor protocol LocatorDelegate: AnyObject {
  func locator(_ locator: Locator, didFind place: String)
  func locator(_ locator: Locator, didFail error: any Error)
}

@MainActor
final class Locator {
  weak var delegate: (any LocatorDelegate)?
  private(set) var isRunning = false
  func start() { isRunning = true }
  func stop() { isRunning = false }
}

// MARK: callback
func send(_ make: (@escaping @Sendable (String?, (any Error)?) -> Void) -> LegacyRequest)
  -> Promise<String>
{
  Promise { resolver in
    let request = make { text, error in resolver.resolve(text, error) }
    resolver.onCancel { request.abort() }
  }
}

// MARK: delegate
@MainActor
final class LocationRequest: LocatorDelegate {
  let location: Promise<String>
  private let resolver: Resolver<String>
  private let locator: Locator

  init(_ locator: Locator) {
    (location, resolver) = Promise<String>.withResolvers()
    self.locator = locator
    locator.delegate = self
    resolver.onCancel { locator.stop() }
    locator.start()
  }

  func locator(_ locator: Locator, didFind place: String) { resolver.fulfill(place) }
  func locator(_ locator: Locator, didFail error: any Error) { resolver.reject(error) }
}

// MARK: screen
@MainActor
final class ProfileScreen {
  private let scope = PromiseScope()
  private(set) var title = "…"

  func load(_ user: Promise<User>) {
    user.bound(to: scope)
      .done(weak: self) { screen, user in screen.title = user.name }
      .ignoreErrors()
  }
}

// MARK: spinner
@MainActor
final class Spinner {
  var isVisible = false
}

extension Promise {
  /// Shows the spinner while this promise is pending, but only after `delay`.
  @MainActor
  func showing(
    _ spinner: Spinner, after delay: Duration = .milliseconds(400),
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Promise {
    let shown = Promise<Void>.after(delay, clock: clock).done { _ in spinner.isVisible = true }
    return finally {
      shown.cancel()
      spinner.isVisible = false
    }
  }
}

// MARK: shutdown
final class Service: Sendable {
  private let limiter = Limiter(8)
  private let scope = PromiseScope()

  func handle(_ request: @escaping @Sendable () -> Promise<String>) -> Promise<String> {
    limiter.run { request() }.bound(to: scope)
  }

  /// Drops waiting requests, gives running ones time to finish, and then cancels them.
  func shutDown(
    within grace: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> Promise<Void> {
    limiter.clear()
    return limiter.idle()
      .timeout(after: grace, clock: clock)
      .recover(only: TimeoutError.self) { [limiter, scope] _ in
        scope.cancelAll()
        return limiter.idle()
      }
  }
}

// MARK: reminder
func remind(
  after delay: Duration, clock: any Clock<Duration> = ContinuousClock(),
  _ ring: @escaping @Sendable () -> Void
) -> Promise<Void> {
  Promise.after(delay, clock: clock).done { _ in ring() }
}

// MARK: end

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

  // MARK: test
  @Test func reminder_ringsAfterAnHour() async throws {
    let (clock, rings) = (TestClock(), CallCounter())
    let reminder = remind(after: .seconds(3600), clock: clock) { rings.call() }
    await clock.sleepers(atLeast: 1)

    await clock.advance(by: .seconds(3599))
    try rings.expectNever()

    await clock.advance(by: .seconds(1))
    try await expectFulfillment(of: reminder)
    try rings.expectOnce()
  }
  // MARK: end
}
