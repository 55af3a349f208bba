import Pledge
import PledgeTesting
import Testing

// The examples of Pledge.md, README.md and CONTRIBUTING.md.

@MainActor
private enum Landing {
  @MainActor
  final class Profile {
    var name = ""
    var isLoading = true

    func load() {
      fetchUser(id: 7)
        .timeout(after: .seconds(5))
        .done { user in self.name = user.name }
        .catch { error in self.name = "Nobody (\(error))" }
        .finally { self.isLoading = false }
    }
  }
}

@MainActor
final class Forecast {
  var text = ""
  var isLoading = true

  func load(from city: Promise<String>, _ temperature: @escaping Thermometer) {
    city
      .then { city in Promise.all(.value(city), temperature(city)) }
      .timeout(after: .seconds(5))
      .done { city, degrees in self.text = "\(city): \(degrees)°" }  // on the main actor
      .catch { error in self.text = "No forecast: \(error)" }  // here, too
      .finally { self.isLoading = false }
  }
}

typealias Thermometer = @Sendable (_ city: String) -> Promise<Double>

private func tour(label: Label) async throws {
  // Chain. `then` takes a promise, `map` a value, `done` nothing.
  fetchUser(id: 7)
    .then { user in fetchAvatar(of: user) }
    .map(on: .global) { avatar in thumbnail(of: avatar) }
    .done { @MainActor avatar in label.text = "\(avatar.byteCount) bytes" }
    .catch(only: TimeoutError.self) { error in print("no answer within \(error.duration)") }
    .catch { error in print("no avatar: \(error)") }

  // Combine: a tuple of any size, an array with limited concurrency, the first success.
  let both = Promise.all(fetchUser(id: 7), fetchNews())
  let users = Promise.all(1...100, concurrently: 4) { fetchUser(id: $0) }
  let page = Promise.any(downloadPage(from: "mirror-1"), downloadPage(from: "mirror-2"))

  // Retry with a timeout for each attempt. Abandoned attempts are cancelled.
  let news = Promise.retry(.exponential(attempts: 5, from: .milliseconds(200)).withJitter()) {
    fetchNews().timeout(after: .seconds(2))
  }

  // Cancel. The producer stops unless it has another consumer.
  news.cancel()

  // From callbacks and from async code, and back.
  let color = Promise.wrap { readSetting("color", completion: $0) }
  let profile = Promise { try await server.profile(of: User()) }
  let name = try await profile.value.name

  _ = (both, users, page, color, name)
}

extension Thenable {
  /// Returns a promise for the value and the result of applying `transform` to it.
  ///
  /// If this promise is rejected, or `transform` throws, the result is rejected with that error.
  ///
  /// **Execution.** `transform` runs on `executor`.
  public func pair<U: Sendable>(
    on executor: some PromiseExecutor, _ transform: @escaping @Sendable (Value) throws -> U
  ) -> Promise<(Value, U)> {
    map(on: executor) { value in (value, try transform(value)) }
  }
}

@Suite struct LandingPage {
  // In processes of their own, as these use real timers, and other tests count those of theirs.

  @Test func forecast_loads() async {
    await #expect(processExitsWith: .success) { @MainActor in
      let forecast = Forecast()
      forecast.load(from: .value("Oslo")) { _ in .value(7.5) }
      try await waitUntil { !forecast.isLoading }
      #expect(forecast.text == "Oslo: 7.5°")
    }
  }

  @Test func tour_endsWithoutError() async {
    await #expect(processExitsWith: .success) { try await tour(label: Label()) }
  }

  @Test func pair_holdsBoth() async throws {
    let pair = try await Promise.value(3).pair(on: .global) { $0 + 1 }.value
    #expect(pair == (3, 4))
  }

  @MainActor @Test func profile_loads() async throws {
    let profile = Landing.Profile()
    profile.load()
    try await waitUntil { !profile.isLoading }
    #expect(profile.name == "Ada")
  }
}
