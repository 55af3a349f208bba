import Foundation
import Pledge
import XCTest

@testable import Promises

final class BridgeTests: XCTestCase {
  func test_pledgeToPromise() {
    let (pledge, resolver) = Pledge.Promise<Int>.withResolvers()
    let promise = Promise(pledge: pledge)
    let failed = Promise<Int>(pledge: Pledge.Promise<Int>.rejected(Failure.first))
    XCTAssertTrue(promise.isPending)
    resolver.fulfill(42)
    settle()
    XCTAssertEqual(promise.value, 42)
    XCTAssertEqual(failed.error as? Failure, .first)
  }

  func test_promiseToPledge() async throws {
    let promise = Promise<Int>(on: .global()) { 42 }
    let value = try await promise.pledge.map { $0 + 1 }.value
    XCTAssertEqual(value, 43)
    let failed = Promise<Int>(Failure.first).pledge
    guard case .failure(let error) = await failed.result else { return XCTFail("did not fail") }
    XCTAssertEqual(error as? Failure, .first)
  }

  func test_get_returnsOrThrows() async throws {
    let value = try await Promise<Int>(on: .global()) { 42 }.get()
    XCTAssertEqual(value, 42)
    do {
      _ = try await Promise<Int>(on: .global()) { throw Failure.first }.get()
      XCTFail("did not throw")
    } catch {
      XCTAssertEqual(error as? Failure, .first)
    }
  }

  func test_pledge_whenThePromiseGoesAway_isRejected() async {
    do {
      _ = try await Promise<Int>().pledge.value
      XCTFail("did not throw")
    } catch {
      XCTAssertTrue(error is BrokenPromiseError)
    }
  }

  func test_get_whenTheTaskIsCancelled_throws() async {
    let promise = Promise<Int>()
    let task = Task { try await promise.get() }
    task.cancel()
    let result = await task.result
    XCTAssertThrowsError(try result.get()) { XCTAssertTrue($0 is CancellationError) }
    XCTAssertTrue(promise.isPending)
    promise.fulfill(1)
  }

  func test_taskOnQueue_runsThereInTheOrderOfHandlers() async {
    let queue = DispatchQueue(label: "tasks")
    let promise = Promise<Int>()
    // Changed on the queue only, and read after the last change.
    nonisolated(unsafe) var order: [Int] = []
    promise.then(on: queue) { _ in order.append(1) }
    let task = Task(on: queue, after: promise) {
      dispatchPrecondition(condition: .onQueue(queue))
      order.append(2)
    }
    promise.then(on: queue) { _ in order.append(3) }
    promise.fulfill(0)
    await task.value
    XCTAssertEqual(queue.sync { order }, [1, 2, 3])
  }

  func test_sendability_followsTheValue() {
    func need<T: Sendable>(_: T.Type) {}
    need(Promise<Int>.self)
    need(Maybe<Int>.self)
    need(PromiseError.self)
  }

  func test_cancelledPledges_leaveNothingAtThePromise() {
    let promise = Promise<Int>()
    for _ in 0..<5_000 { promise.pledge.cancel() }
    let start = memory
    for _ in 0..<10_000 { promise.pledge.cancel() }
    XCTAssertLessThan(memory - start, 1_000)
    XCTAssertTrue(promise.isPending)
    promise.fulfill(1)
    settle()
  }
}
