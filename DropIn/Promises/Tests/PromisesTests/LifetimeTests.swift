import Foundation
import Pledge
import XCTest

@testable import Promises

typealias Promise = Promises.Promise
typealias PromiseError = Promises.PromiseError

final class LifetimeTests: XCTestCase {
  private let tracker = LifetimeTracker()

  func test_chain_livesThroughItsUpstream() {
    let promise = Promise<Int>()
    weak var first: Promise<Int>?
    weak var last: Promise<Int>?
    do {
      let derived = promise.then { $0 + 1 }
      first = derived
      last = derived.catch { _ in }.always {}
    }
    XCTAssertNotNil(first)
    XCTAssertNotNil(last)
    promise.fulfill(1)
    settle()
    XCTAssertNil(first)
    XCTAssertNil(last)
  }

  func test_cycle_isRejected_butNotAPromiseThatReturnsItself() {
    var first: Promise<Int>?
    var second: Promise<Int>?
    first = Promise(1).then { _ in second ?? Promise(0) }
    second = Promise(1).then { _ in first ?? Promise(0) }
    spin(until: first?.isRejected == true && second?.isRejected == true)
    let own = Promise<Int>.pending()
    let itself = own.then { _ in first ?? Promise(0) }
    first = itself
    own.fulfill(1)
    runMainQueue()
    XCTAssertTrue(itself.isPending)
    itself.fulfill(2)
    XCTAssertEqual(itself.value, 2)
  }

  func test_awaitPromise_inDeeplyNestedHandlersOfPledge_returns() {
    let pending = Promise<Int>.pending()
    var values: [Int?] = []
    @Sendable func nest(_ depth: Int, _ body: @escaping () -> Void) {
      guard depth > 0 else { return body() }
      nonisolated(unsafe) let body = body
      Pledge.Promise.value(depth).done(on: .immediate) { nest($0 - 1, body) }.ignoreErrors()
    }
    for depth in 20...30 {
      nest(depth) {
        let derived = pending.then { Promise($0) }
        derived.fulfill(1)
        values.append(try? awaitPromise(derived.timeout(on: .global(), 60)))
      }
    }
    XCTAssertEqual(values, Array(repeating: 1, count: 11))
    pending.fulfill(0)
    settle()
  }

  func test_promiseWithoutResolver_isReleasedSilently() {
    let reports = Recorder<String>()
    PromiseDiagnostics.setUnhandledRejectionHandler { reports.record("\($0)") }
    defer { PromiseDiagnostics.setUnhandledRejectionHandler(nil) }
    weak var weakPromise: Promise<Int>?
    weak var derived: Promise<Int>?
    do {
      let tracked = tracker.track()
      let promise = Promise<Int>.pending()
      weakPromise = promise
      derived = promise.then { value -> Int in
        XCTFail("called")
        return withExtendedLifetime(tracked) { value }
      }.then { value in Promise(withExtendedLifetime(tracked) { value }) }
        .always { XCTFail("called") }
        .timeout(1000)
        .delay(1)
      _ = all([promise, Promise(1)])
      _ = any(promise, Promise("a"))
      _ = race(promise, promise)
      XCTAssertNotNil(derived)
    }
    settle()
    XCTAssertNil(weakPromise)
    XCTAssertNil(derived)
    XCTAssertEqual(tracker.liveCount, 0)
    XCTAssertEqual(reports.events, [])
  }

  func test_upstreamThatGoesAway_leavesTheDerivedPromisePending() {
    var promise: Promise<Int>? = Promise()
    let derived = promise?.then { $0 }
    promise = nil
    XCTAssertEqual(derived?.isPending, true)
    derived?.fulfill(1)
    settle()
    XCTAssertEqual(derived?.value, 1)
  }

  func test_handlers_areReleasedAfterTheyHaveRun() {
    let promise = Promise<Int>()
    do {
      let tracked = tracker.track()
      promise.then { _ in withExtendedLifetime(tracked) {} }
      promise.catch { _ in withExtendedLifetime(tracked) {} }
      promise.then { _ in withExtendedLifetime(tracked) { Promise(1) } }
    }
    XCTAssertEqual(tracker.liveCount, 1)
    promise.fulfill(1)
    settle()
    XCTAssertEqual(tracker.liveCount, 0)
  }

  func test_values_areReleasedWithTheirPromises() {
    do {
      _ = Promise(tracker.track())
      _ = Promise<LifetimeTracker.Token> { self.tracker.track() }.then { Promise($0) }.delay(0.01)
      let promise = Promise<LifetimeTracker.Token>()
      promise.fulfill(tracker.track())
    }
    settle()
    XCTAssertEqual(tracker.liveCount, 0)
  }

  func test_rejections_areNeverReported() {
    let reports = Recorder<String>()
    PromiseDiagnostics.setUnhandledRejectionHandler { reports.record("\($0)") }
    defer { PromiseDiagnostics.setUnhandledRejectionHandler(nil) }
    do {
      let promise = Promise<Int>()
      promise.reject(Failure.first)
      promise.reject(Failure.second)
      _ = Promise<Int>(Failure.first)
      _ = Promise<Int> { throw Failure.first }
      promise.then { _ in }.then { _ in Promise(1) }.delay(1).timeout(0)
      promise.recover { _ in Promise(Failure.second) }
      Promise(1).validate { _ in false }
      _ = all(promise, promise)
      _ = any(promise, promise)
      _ = race(promise, promise)
      _ = retry(attempts: 1, delay: 0) { Promise<Int>(Failure.first) }
      _ = Promise<Int>().timeout(0)
    }
    settle()
    runMainQueue()
    XCTAssertEqual(reports.events, [])
  }

  func test_group_holdsPendingPromisesAndHandlers() {
    var promise: Promise<Int>? = Promise()
    XCTAssertFalse(waitForPromises(timeout: 0.05))
    promise = nil
    XCTAssertTrue(waitForPromises(timeout: 0.05))
    promise = Promise()
    promise?.then { $0 }
    promise?.fulfill(1)
    XCTAssertEqual(DispatchGroup.promises.wait(timeout: .now()), .timedOut)
    settle()
    // A promise that was created resolved doesn't count.
    let resolved = Promise(1)
    XCTAssertEqual(DispatchGroup.promises.wait(timeout: .now()), .success)
    withExtendedLifetime(resolved) {}
  }

  func test_waitForPromises_awayFromTheMainThread() {
    let done = expectation(description: "waited")
    let promise = Promise<Int> { fulfill, _ in
      DispatchQueue.main.asyncAfter(deadline: .now() + 0.05) { fulfill(1) }
    }
    DispatchQueue.global().async {
      XCTAssertTrue(waitForPromises(timeout: 10))
      done.fulfill()
    }
    wait(for: [done], timeout: 10)
    XCTAssertEqual(promise.value, 1)
  }

  func test_defaultQueue_isMainUnlessChanged() {
    XCTAssertEqual(DispatchQueue.promises.label, DispatchQueue.main.label)
    let queue = MarkedQueue()
    DispatchQueue.promises = queue.queue
    let promise = Promise(1).then { _ in queue.isCurrent }
    DispatchQueue.promises = .main
    let after = Promise(1).then { _ in Thread.isMainThread }
    settle()
    XCTAssertEqual(promise.value, true)
    XCTAssertEqual(after.value, true)
  }
}
