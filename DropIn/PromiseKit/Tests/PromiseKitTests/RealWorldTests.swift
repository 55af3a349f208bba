import Foundation
import PromiseKit
import XCTest

// Code in the style of existing applications, unchanged: Swift 5, classes without isolation, values
// that aren't `Sendable`, and captured variables that handlers modify.

/// An image that is loaded with an API with completion handlers.
private final class Avatar {
  let name: String
  init(name: String) { self.name = name }
}

private struct User: Equatable {
  let id: Int
  var friends: [Int] = []
}

private enum NetworkError: Error {
  case status(Int)
  case unauthorized
}

private final class LegacyAPI {
  var isLoggedIn = false
  var failures = 0

  func login(completion: @escaping (Error?) -> Void) {
    isLoggedIn = true
    DispatchQueue.global().async { completion(nil) }
  }

  func user(_ id: Int, completion: @escaping (User?, Error?) -> Void) {
    guard isLoggedIn else { return completion(nil, NetworkError.unauthorized) }
    if failures > 0 {
      failures -= 1
      return completion(nil, NetworkError.status(503))
    }
    DispatchQueue.global().async { completion(User(id: id, friends: [id + 1, id + 2]), nil) }
  }

  func avatar(_ id: Int, completion: @escaping (Swift.Result<Avatar, NetworkError>) -> Void) {
    if id == 13 { return completion(.failure(.status(404))) }
    completion(.success(Avatar(name: "avatar \(id)")))
  }
}

private final class Network {
  let api = LegacyAPI()

  func login() -> Promise<Void> {
    return Promise { seal in api.login(completion: seal.resolve) }
  }

  func user(_ id: Int) -> Promise<User> {
    return Promise { seal in api.user(id, completion: seal.resolve) }
  }

  func avatar(_ id: Int) -> Promise<Avatar> {
    return Promise { seal in
      api.avatar(id) { result in
        switch result {
        case .success(let avatar): seal.fulfill(avatar)
        case .failure(let error): seal.reject(error)
        }
      }
    }
  }

  /// Logs in and retries when the session has expired.
  func authorized<T>(_ request: @escaping () -> Promise<T>) -> Promise<T> {
    return request().recover { error -> Promise<T> in
      guard case NetworkError.unauthorized = error else { throw error }
      return self.login().then { request() }
    }
  }

  /// Retries as PromiseKit's documentation suggests.
  func attempt<T>(
    maximumRetryCount: Int = 3, delayBeforeRetry: DispatchTimeInterval = .milliseconds(1),
    _ body: @escaping () -> Promise<T>
  ) -> Promise<T> {
    var attempts = 0
    func attempt() -> Promise<T> {
      attempts += 1
      return body().recover { error -> Promise<T> in
        guard attempts < maximumRetryCount else { throw error }
        return after(delayBeforeRetry).then(attempt)
      }
    }
    return attempt()
  }
}

/// A view model for one user with friends.
private final class ProfileViewModel {
  private(set) var isLoading = false
  private(set) var title = ""
  private(set) var avatars: [Avatar] = []
  private(set) var message: String?
  let network = Network()

  func load(_ id: Int) -> Promise<Void> {
    isLoading = true
    return firstly {
      network.authorized { self.network.user(id) }
    }.get { [weak self] user in
      self?.title = "User \(user.id)"
    }.then { user in
      when(
        fulfilled: self.network.avatar(user.id),
        when(fulfilled: user.friends.map(self.network.avatar)))
    }.done { own, others in
      self.avatars = [own] + others
    }.ensure {
      self.isLoading = false
    }
  }

  func show(_ id: Int) -> PMKFinalizer {
    return load(id).catch { error in
      if case NetworkError.status(let status) = error { self.message = "status \(status)" }
    }
  }
}

final class RealWorldTests: PromiseKitTestCase {
  func testViewModel() throws {
    let model = ProfileViewModel()
    let promise = model.load(1)
    XCTAssertTrue(model.isLoading)
    try value(of: promise)
    XCTAssertFalse(model.isLoading)
    XCTAssertEqual(model.title, "User 1")
    XCTAssertEqual(model.avatars.map(\.name), ["avatar 1", "avatar 2", "avatar 3"])
  }

  func testViewModelShowsAnError() {
    let model = ProfileViewModel()
    let done = expectation(description: "")
    model.show(12).finally { done.fulfill() }
    wait(for: [done], timeout: 60)
    XCTAssertEqual(model.message, "status 404")
    XCTAssertFalse(model.isLoading)
  }

  func testRetry() throws {
    let network = Network()
    network.api.isLoggedIn = true
    network.api.failures = 2
    XCTAssertEqual(try value(of: network.attempt { network.user(1) }).id, 1)
    network.api.failures = 3
    XCTAssertNotNil(error(of: network.attempt { network.user(1) }))
  }

  func testSequenceOfRequests() throws {
    let network = Network()
    network.api.isLoggedIn = true
    var fade = Guarantee()
    var order: [Int] = []
    for number in 0..<5 {
      fade = fade.then { after(.milliseconds(1)) }.done { order.append(number) }
    }
    try value(of: fade)
    XCTAssertEqual(order, [0, 1, 2, 3, 4])

    let users = [1, 2, 3].reduce(Promise.value([User]())) { chain, id in
      chain.then { users in network.user(id).map { users + [$0] } }
    }
    XCTAssertEqual(try value(of: users).map(\.id), [1, 2, 3])
  }
}
