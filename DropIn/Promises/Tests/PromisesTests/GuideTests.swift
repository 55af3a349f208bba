import Foundation
import Pledge
import XCTest

// Tests of the guide's claims about Pledge.

final class GuideTests: XCTestCase {
  private typealias Promise = Pledge.Promise

  private func load(completion: @escaping @Sendable (Data?, Error?) -> Void) {
    completion(Data("data".utf8), nil)
  }

  func test_makingPromises() async throws {
    let first = Promise<Int> { resolver in resolver.resolve(1, nil) }
    let second = Promise(on: DispatchQueue.global()) { 2 }
    let (third, resolver) = Promise<Int>.withResolvers()
    resolver.fulfill(3)
    let fourth = Promise.value(4)
    let failed = Promise<Int>.rejected(Failure.first)
    failed.catch { _ in }
    let values = try await Promise.all([first, second, third, fourth]).value
    XCTAssertEqual(values, [1, 2, 3, 4])
  }

  func test_chaining() async throws {
    let log = Log()
    await Promise.value("token")
      .then { token in Promise.value(token) }
      .map { token in token.count }
      .get { count in log.add("\(count)") }
      .validate { $0 == 5 }
      .timeout(after: .seconds(5))
      .delay(.milliseconds(1))
      .reduce([1, 2]) { sum, number in Promise.value(sum + number) }
      .finally { log.add("finally") }
      .done { sum in log.add("\(sum)") }
      .catch { error in log.add("\(error)") }
      .value
    XCTAssertEqual(log.all, ["5", "finally", "8"])
  }

  func test_severalPromises() async throws {
    let tuple = try await Promise.all(Promise.value(1), Promise.value("a")).value
    XCTAssertTrue(tuple == (1, "a"))
    let inputs: [Promise<Int>] = [.value(1), .rejected(Failure.first)]
    let values = try await Promise.allSettled(inputs).map { results in
      results.compactMap { try? $0.get() }
    }.value
    XCTAssertEqual(values, [1])
    let winner = try await Promise.race(Promise.value(1), Promise.value(2)).value
    XCTAssertEqual(winner, 1)
  }

  func test_retryingWrappingWaiting() async throws {
    let policy = RetryPolicy.fixed(attempts: 4, delay: .milliseconds(1)).retrying { error in
      error as? Failure == .first
    }
    let log = Log()
    let value = try await Promise<Int>.retry(policy) {
      log.add("try")
      return log.count < 3 ? .rejected(Failure.first) : .value(log.count)
    }.value
    XCTAssertEqual(value, 3)
    let data = try await Promise<Data>.wrap { completion in load(completion: completion) }.value
    XCTAssertEqual(data, Data("data".utf8))
  }

  func test_waiting() throws {
    XCTAssertEqual(try Promise.value(1).wait(), 1)
  }
}
