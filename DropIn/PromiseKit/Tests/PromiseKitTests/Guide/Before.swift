import Foundation
import PromiseKit

// The left side of the migration guide, whose examples must compile.

private struct User {
  var name = ""
  static let guest = User(name: "guest")
}

private enum APIError: Error {
  case notFound
}

private final class API {
  func user(_ id: Int, completion: @escaping (User?, Error?) -> Void) { completion(User(), nil) }
}

private final class Before {
  let api = API()
  var label = ""
  var message = ""
  var isLoading = true

  func user(_ id: Int) -> Promise<User> {
    return Promise { seal in api.user(id, completion: seal.resolve) }
  }

  func making() -> [Any] {
    [
      Promise.value(1), Guarantee.value(1), Promise<Int>(error: APIError.notFound),
      Promise<Int>.pending(), Promise<Void> { seal in seal.fulfill_() },
      DispatchQueue.global().async(.promise) { 1 }, after(seconds: 1),
    ]
  }

  func login() -> Promise<Int> { .value(1) }
  func fetchUser(_ session: Int) -> Promise<User> { .value(User()) }
  func fetchNews() -> Promise<String> { .value("") }
  func fetchWeather() -> Promise<Double> { .value(0) }

  func chaining() {
    firstly {
      login()
    }.then { session in
      self.fetchUser(session)
    }.map(on: nil) { user in
      user.name
    }.done { name in
      self.label = name
    }.catch { error in
      self.message = "\(error)"
    }.finally {
      self.isLoading = false
    }
  }

  func errors() -> Promise<User> {
    fetchUser(1).recover { error -> Promise<User> in
      guard case APIError.notFound = error else { throw error }
      return .value(User.guest)
    }.ensure {
      self.isLoading = false
    }
  }

  func several(_ ids: [Int]) -> Promise<([User], String, Double)> {
    when(fulfilled: ids.map(fetchUser)).then { users in
      when(fulfilled: self.fetchNews(), self.fetchWeather()).map { (users, $0, $1) }
    }
  }

  func more(_ ids: [Int]) -> [Any] {
    let (a, b) = (login(), login())
    var rest = ids.makeIterator()
    let work = AnyIterator { rest.next().map { self.fetchUser($0) } }
    return [
      when(fulfilled: [a, b]), when(resolved: [a, b]), when(fulfilled: work, concurrently: 4),
      when(guarantees: Guarantee.value(1), Guarantee.value("")), race(a, b),
      race(fulfilled: [a, b]), race(a, after(seconds: 5).map { throw APIError.notFound }),
      after(seconds: 1).then { a },
    ]
  }
}
