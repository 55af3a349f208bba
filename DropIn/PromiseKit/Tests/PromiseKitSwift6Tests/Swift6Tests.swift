import Foundation
import PromiseKit
import XCTest

// Swift 6 code that uses the drop-in module must compile without a warning.

private struct User: Sendable { let name: String }

private func fetchUser(_ name: String) -> Promise<User> {
  after(.milliseconds(1)).map(on: .global()) { User(name: name) }.then(on: nil) {
    Promise.value($0)
  }
}

@MainActor
private final class ViewModel {
  var title = ""
  var isLoading = false

  func load() -> Promise<Void> {
    isLoading = true
    return fetchUser("Ada").done { user in
      self.title = user.name
    }.ensure {
      self.isLoading = false
    }
  }

  func loadWithAwait() async throws { title = try await fetchUser("Grace").async().name }
}

final class Swift6Tests: XCTestCase {
  @MainActor
  func testViewModel() async throws {
    let model = ViewModel()
    try await model.load().async()
    XCTAssertEqual(model.title, "Ada")
    XCTAssertFalse(model.isLoading)
    try await model.loadWithAwait()
    XCTAssertEqual(model.title, "Grace")
  }

  func testPromisesAndResolversMayBeSent() async throws {
    let (promise, seal) = Promise<Int>.pending()
    Task.detached { seal.fulfill(1) }
    let value = try await Task.detached { try await promise.async() }.value
    XCTAssertEqual(value, 1)
    let awaited = try await promise.pledge.value
    XCTAssertEqual(awaited, 1)
  }

  func testFunctionsThatResolveAGuarantee_mayBeSent() async {
    let (guarantee, resolve) = Guarantee<Int>.pending()
    DispatchQueue.global().async { resolve(1) }
    let other = Guarantee<Int> { seal in DispatchQueue.global().async { seal(2) } }
    let sum = await guarantee.async() + other.async()
    XCTAssertEqual(sum, 3)
  }

  /// Tests values that aren't `Sendable`, which the program must synchronize itself.
  func testUnappliedResolversAreInferred() async throws {
    final class Box { let number = 1 }
    @Sendable func load(_ completion: @escaping @Sendable (Box?, (any Error)?) -> Void) {
      DispatchQueue.global().async { completion(Box(), nil) }
    }
    let guarantee = Guarantee.value(1)
    let promise = Promise { guarantee.done($0.fulfill) }
    let number = try await promise.async()
    XCTAssertEqual(number, 1)
    let loaded = Promise { load($0.resolve) }
    let other = try await loaded.map { $0.number }.async()
    XCTAssertEqual(other, 1)
  }

  /// Tests values that aren't `Sendable`, which the program must synchronize itself.
  func testPromisesOfAnyValuesMayBeSent() async {
    final class Box { let number = 1 }
    let (promise, guarantee) = (Promise.value(Box()), Guarantee.value(Box()))
    let result = PromiseKit.Result.fulfilled(Box())
    let areFulfilled = await Task.detached {
      promise.isFulfilled && guarantee.isFulfilled && result.isFulfilled
    }.value
    XCTAssertTrue(areFulfilled)
  }

  func testOutcomesAndFinalizersMayBeSent() async throws {
    let result = PromiseKit.Result.fulfilled(1)
    let isFulfilled = await Task.detached { result.isFulfilled }.value
    XCTAssertTrue(isFulfilled)
    let promise = Promise<Int>(error: PMKError.badInput)
    let finalizer = await Task { promise.catch { _ in } }.value
    let done = expectation(description: "done")
    finalizer.finally { done.fulfill() }
    await fulfillment(of: [done], timeout: 60)
  }
}
