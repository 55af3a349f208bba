import Foundation
import PromiseKit
import XCTest

final class FunctionTests: PromiseKitTestCase {
  func testFirstly() throws {
    var ran = false
    let promise = firstly { () -> Promise<Int> in
      ran = true
      return .value(1)
    }
    XCTAssertTrue(ran)
    XCTAssertEqual(promise.value, 1)
    XCTAssertNotNil(firstly { () -> Promise<Int> in throw TestError.dummy }.error)
    let guarantee = Guarantee.value(1)
    XCTAssertTrue(firstly { guarantee } === guarantee)
    let inner = Promise.value(1)
    XCTAssertFalse(firstly { inner } === inner)
    XCTAssertEqual(try value(of: firstly { .value(1) }.map { $0 + 1 }), 2)
  }

  func testAfter() throws {
    let start = Date()
    try value(of: after(seconds: 0.02))
    XCTAssertGreaterThanOrEqual(Date().timeIntervalSince(start), 0.019)
    XCTAssertTrue(after(.milliseconds(50)).isPending)
    try value(of: after(.microseconds(1)))
    try value(of: after(.nanoseconds(1)))
    try value(of: after(.seconds(0)))
    XCTAssertTrue(after(seconds: .infinity).isPending)
  }

  func testHang() throws {
    XCTAssertEqual(try hang(Promise(after(.milliseconds(2)).map { 1 })), 1)
    XCTAssertEqual(try hang(Promise.value(2)), 2)
    XCTAssertThrowsError(try hang(after(.milliseconds(1)).map { throw TestError.dummy }))
  }

  func testQueue() throws {
    let queue = DispatchQueue(label: "queue")
    let guarantee: Guarantee<Int> = queue.async(.promise) {
      dispatchPrecondition(condition: .onQueue(queue))
      return 1
    }
    XCTAssertEqual(try value(of: guarantee), 1)
    let promise = queue.async(.promise) { throw TestError.dummy }
    XCTAssertEqual(error(of: promise) as? TestError, .dummy)
    let group = DispatchGroup()
    let grouped = queue.async(.promise, group: group, qos: .utility, flags: .barrier) { 2 }
    group.wait()
    XCTAssertEqual(try value(of: grouped), 2)
  }

  func testErrorTexts() {
    let texts: [(PMKError, String)] = [
      (.compactMap("a", Int.self), "Could not `compactMap<Int>`: a"),
      (
        .invalidCallingConvention,
        "A closure was called with an invalid calling convention, probably (nil, nil)"
      ),
      (.returnedSelf, "A promise handler returned itself"),
      (.badInput, "Bad input was provided to a PromiseKit function"),
      (.cancelled, "The asynchronous sequence was cancelled"),
      (.emptySequence, "The first or last element was requested for an empty sequence"),
      (.noWinner, "All thenables passed to race(fulfilled:) were rejected"),
    ]
    for (error, text) in texts {
      XCTAssertEqual(error.debugDescription, text)
      XCTAssertEqual(error.localizedDescription, text)
    }
  }

  func testConfiguration() {
    let fresh = PromiseKit.conf
    XCTAssertEqual(fresh.Q.map?.label, DispatchQueue.main.label)
    XCTAssertEqual(fresh.Q.return?.label, DispatchQueue.main.label)
    XCTAssertEqual(fresh.catchPolicy, .allErrorsExceptCancellation)
    PromiseKit.conf.Q.map = nil
    XCTAssertNil(conf.Q.map)
    XCTAssertEqual("\(PromiseKit.LogEvent.waitOnMainThread)", "waitOnMainThread")
  }

  func testAsync() async throws {
    let promised = try await Promise.value(1).async()
    XCTAssertEqual(promised, 1)
    let guaranteed = await after(.milliseconds(1)).map { 2 }.async()
    XCTAssertEqual(guaranteed, 2)
    do {
      try await Promise<Void>(error: PMKError.cancelled).async()
      XCTFail()
    } catch {
      XCTAssertTrue(error.isCancelled)
    }
  }

  func testTaskOnQueueRunsThereInTheOrderOfHandlers() async {
    let queue = DispatchQueue(label: "tasks")
    let (promise, resolver) = Promise<Void>.pending()
    // Changed on the queue only, and read after the last change.
    nonisolated(unsafe) var order: [Int] = []
    promise.done(on: queue) { order.append(1) }.cauterize()
    let task = Task(on: queue, after: promise) {
      dispatchPrecondition(condition: .onQueue(queue))
      order.append(2)
    }
    promise.done(on: queue) { order.append(3) }.cauterize()
    resolver.fulfill(())
    await task.value
    XCTAssertEqual(queue.sync { order }, [1, 2, 3])
  }

  func testNamespacer() { XCTAssertEqual("\(PMKNamespacer.promise)", "promise") }
}

/// The default log handler prints; its lines are part of the behavior.
final class DefaultLogTests: XCTestCase {
  func testLines() throws {
    let text = try output(of: 1) {
      PromiseKit.conf.logHandler(.waitOnMainThread)
      PromiseKit.conf.logHandler(.pendingPromiseDeallocated)
      PromiseKit.conf.logHandler(.pendingGuaranteeDeallocated)
      PromiseKit.conf.logHandler(.cauterized(TestError.dummy))
    }
    XCTAssertEqual(
      text,
      """
      PromiseKit: warning: `wait()` called on main thread!
      PromiseKit: warning: pending promise deallocated
      PromiseKit: warning: pending guarantee deallocated
      PromiseKit:cauterized-error: dummy

      """)
  }
}
