import Foundation
import Pledge

// The right side of the migration guide, whose examples must compile.

private struct User: Sendable {
  var name = ""
  static let guest = User(name: "guest")
}

private enum APIError: Error {
  case notFound
}

private struct API: Sendable {
  func user(_ id: Int, completion: @escaping (User?, Error?) -> Void) { completion(User(), nil) }
}

@MainActor
private final class After {
  let api = API()
  var label = ""
  var message = ""
  var isLoading = true

  func user(_ id: Int) -> Promise<User> {
    Promise.wrap { api.user(id, completion: $0) }
  }

  func making() -> [Any] {
    [
      Promise.value(1), Guarantee.value(1), Promise<Int>.rejected(APIError.notFound),
      Promise<Int>.withResolvers(), Promise<Void> { resolver in resolver.fulfill() },
      Promise(on: .global) { 1 }, Promise.after(.seconds(1)),
    ]
  }

  func login() -> Promise<Int> { .value(1) }
  func fetchUser(_ session: Int) -> Promise<User> { .value(User()) }
  func fetchNews() -> Promise<String> { .value("") }
  func fetchWeather() -> Promise<Double> { .value(0) }

  func chaining() {
    login()
      .then { session in self.fetchUser(session) }
      .map(on: .immediate) { user in user.name }
      .done { name in self.label = name }
      .catch { error in self.message = "\(error)" }
      .finally { self.isLoading = false }
  }

  func errors() -> Promise<User> {
    fetchUser(1)
      .recover(only: APIError.notFound) { .value(User.guest) }
      .finally { self.isLoading = false }
  }

  func several(_ ids: [Int]) -> Promise<([User], String, Double)> {
    Promise.all(ids.map(fetchUser)).then { users in
      Promise.all(self.fetchNews(), self.fetchWeather()).map { (users, $0, $1) }
    }
  }

  func more(_ ids: [Int]) -> [Any] {
    let (a, b) = (login(), login())
    return [
      Promise.all([a, b]), Promise.allSettled([a, b]),
      Promise.all(ids, concurrently: 4) { self.fetchUser($0) },
      Promise.all(Guarantee.value(1).promise, Guarantee.value("").promise), Promise.race(a, b),
      Promise.any([a, b]), a.timeout(after: .seconds(5)), a.delay(.seconds(1)),
    ]
  }
}
