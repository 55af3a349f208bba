import Foundation
import PromiseKit
import XCTest

final class CatchableTests: PromiseKitTestCase {
  private struct Cancelled: CancellableError { let isCancelled: Bool }

  func testCatchAndFinally() {
    let recorder = Recorder<String>()
    let done = expectation(description: "")
    Promise<Int>(error: TestError.dummy)
      .catch { recorder.record("catch \($0)") }
      .finally {
        recorder.record("finally")
        done.fulfill()
      }
    XCTAssertEqual(recorder.events, [])
    wait(for: [done], timeout: 60)
    XCTAssertEqual(recorder.events, ["catch dummy", "finally"])
  }

  func testFinallyAfterAValue() {
    let done = expectation(description: "")
    Promise.value(1).catch { _ in XCTFail() }.finally { done.fulfill() }
    wait(for: [done], timeout: 60)
    var count = 0
    Promise.value(1).catch(on: nil) { _ in XCTFail() }.finally(on: nil) { count += 1 }
    XCTAssertEqual(count, 1)
    Promise<Int>(error: TestError.dummy).catch(on: nil) { _ in }
    Promise.value(1).catch(on: nil) { _ in }
    XCTAssertEqual(log.events, [], "no finalizer was pending when it was deallocated")
  }

  /// Every two handlers of an error run in the order in which they were attached, whichever they are,
  /// and before the handler of a promise that passes the error on.
  func testHandlersOfAnErrorKeepTheirOrder() {
    typealias Attach = (_ to: Promise<Int>, _ queue: DispatchQueue, _ body: @escaping () -> Void) ->
      Void
    func run<T>(_ body: () -> Void, _ value: T) -> T {
      body()
      return value
    }
    let kinds: [(name: String, attach: Attach)] = [
      ("catch", { $0.catch(on: $1) { [body = $2] _ in body() } }),
      ("catch, all", { $0.catch(on: $1, policy: .allErrors) { [body = $2] _ in body() } }),
      ("recover", { _ = $0.recover(on: $1) { [body = $2] _ in run(body, Promise.value(1)) } }),
      (
        "recover, guarantee",
        { _ = $0.recover(on: $1) { [body = $2] _ in run(body, Guarantee.value(1)) } }
      ),
      ("tap", { _ = $0.tap(on: $1) { [body = $2] _ in body() } }),
      ("ensure", { _ = $0.ensure(on: $1, $2) }),
      ("done, catch", { $0.done(on: $1) { _ in }.catch(on: $1) { [body = $2] _ in body() } }),
      (
        "then, catch",
        { promise, queue, body in
          Promise.value(1).then(on: nil) { _ in promise }.catch(on: queue) { _ in body() }
        }
      ),
    ]
    for first in kinds {
      for second in kinds {
        let passesOn = { (name: String) in name.hasSuffix(", catch") }
        // A promise passes its error on after its own handlers have been sent.
        if passesOn(first.name), !passesOn(second.name) { continue }
        let queue = DispatchQueue(label: "order")
        let recorder = Recorder<String>()
        let (promise, resolver) = Promise<Int>.pending()
        first.attach(promise, queue) { recorder.record("first") }
        second.attach(promise, queue) { recorder.record("second") }
        resolver.reject(TestError.dummy)
        queue.sync {}
        XCTAssertEqual(recorder.events, ["first", "second"], "\(first.name); \(second.name)")
      }
    }
  }

  func testCatchSkipsCancellation() {
    var count = 0
    Promise<Int>(error: PMKError.cancelled).catch(on: nil) { _ in XCTFail() }
      .finally(on: nil) { count += 1 }
    XCTAssertEqual(count, 1)
    Promise<Int>(error: PMKError.cancelled).catch(on: nil, policy: .allErrors) { _ in count += 1 }
    XCTAssertEqual(count, 2)
    conf.catchPolicy = .allErrors
    Promise<Int>(error: PMKError.cancelled).catch(on: nil) { _ in count += 1 }
    XCTAssertEqual(count, 3)
    conf.catchPolicy = .allErrorsExceptCancellation
    // An error that is skipped takes no hop.
    Promise<Int>(error: PMKError.cancelled).catch { _ in XCTFail() }.finally(on: nil) { count += 1 }
    XCTAssertEqual(count, 4)
  }

  func testIsCancelled() {
    XCTAssertTrue(PMKError.cancelled.isCancelled)
    XCTAssertTrue(Cancelled(isCancelled: true).isCancelled)
    XCTAssertFalse(Cancelled(isCancelled: false).isCancelled)
    XCTAssertTrue((Cancelled(isCancelled: true) as Error).isCancelled)
    XCTAssertFalse((Cancelled(isCancelled: false) as Error).isCancelled)
    XCTAssertTrue(URLError(.cancelled).isCancelled)
    XCTAssertFalse(URLError(.badURL).isCancelled)
    XCTAssertTrue(CocoaError(.userCancelled).isCancelled)
    // An `NSError` is converted to a `URLError` automatically only with Objective-C.
    let urlError = NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled)
    XCTAssertEqual(urlError.isCancelled, (urlError as Error) is URLError)
    #if os(Linux)
      XCTAssertFalse(urlError.isCancelled)
    #endif
    XCTAssertTrue(NSError(domain: NSCocoaErrorDomain, code: 3072).isCancelled)
    XCTAssertTrue(CancellationError().isCancelled)
    XCTAssertFalse(TestError.dummy.isCancelled)
    XCTAssertFalse(PMKError.badInput.isCancelled)
  }

  func testRecover() throws {
    let failed = Promise<Int>(error: TestError.dummy)
    XCTAssertEqual(try value(of: failed.recover { _ in Promise.value(1) }), 1)
    XCTAssertEqual(try value(of: failed.recover { _ in .value(2) }), 2)
    let failing = failed.recover { _ -> Promise<Int> in throw TestError.other }
    XCTAssertEqual(error(of: failing) as? TestError, .other)
    XCTAssertEqual(try value(of: Promise.value(3).recover { _ in Promise.value(1) }), 3)
    let guarantee: Guarantee<Int> = Promise.value(4).recover { _ in .value(1) }
    XCTAssertEqual(try value(of: guarantee), 4)
    XCTAssertEqual(try value(of: failed.recover(policy: .allErrors) { _ in Promise.value(5) }), 5)
  }

  func testRecoverOfVoid() throws {
    let failed = Promise<Void>(error: TestError.dummy)
    let guarantee: Guarantee<Void> = failed.recover { _ in }
    try value(of: guarantee)
    let promise: Promise<Void> = failed.recover { error in
      if error as? TestError == .other { throw error }
    }
    try value(of: promise)
    let failing = failed.recover { throw $0 }
    XCTAssertEqual(error(of: failing) as? TestError, .dummy)
  }

  func testRecoverAndCancellation() throws {
    let cancelled = Promise<Int>(error: PMKError.cancelled)
    let skipped = cancelled.recover { _ -> Promise<Int> in
      XCTFail()
      throw TestError.dummy
    }
    XCTAssertTrue(skipped.error?.isCancelled ?? false)
    let taken = cancelled.recover(policy: .allErrors) { _ in Promise.value(1) }
    XCTAssertEqual(try value(of: taken), 1)
    XCTAssertEqual(try value(of: cancelled.recover { _ in .value(2) }), 2)
    try value(of: cancelled.asVoid().recover { _ in })
    let skippedVoid: Promise<Void> = cancelled.asVoid().recover { _ in
      XCTFail()
      throw TestError.dummy
    }
    XCTAssertTrue(skippedVoid.error?.isCancelled ?? false)
  }

  func testEnsure() throws {
    let recorder = Recorder<Int>()
    XCTAssertEqual(try value(of: Promise.value(1).ensure { recorder.record(1) }), 1)
    let failed = Promise<Int>(error: TestError.dummy).ensure { recorder.record(2) }
    XCTAssertEqual(error(of: failed) as? TestError, .dummy)
    let cancelled = Promise<Int>(error: PMKError.cancelled).ensure { recorder.record(3) }
    XCTAssertNotNil(error(of: cancelled))
    XCTAssertEqual(recorder.events, [1, 2, 3])
  }

  func testEnsureThen() throws {
    let recorder = Recorder<String>()
    let (guarantee, resolve) = Guarantee<Void>.pending()
    let end = DispatchQueue(label: "return")
    conf.Q.return = end
    let promise = Promise.value(1).ensureThen(on: nil) {
      recorder.record("ensure")
      return guarantee
    }
    XCTAssertEqual(recorder.events, ["ensure"])
    XCTAssertTrue(promise.isPending)
    end.suspend()
    resolve(())
    XCTAssertTrue(promise.isPending)
    end.resume()
    XCTAssertEqual(try value(of: promise), 1)
    let failed = Promise<Int>(error: TestError.dummy).ensureThen { Guarantee() }
    XCTAssertEqual(error(of: failed) as? TestError, .dummy)
  }

  func testCauterize() {
    let done = expectation(description: "")
    done.expectedFulfillmentCount = 2
    Promise<Int>(error: TestError.dummy).cauterize().finally { done.fulfill() }
    Promise<Int>(error: PMKError.cancelled).cauterize().finally { done.fulfill() }
    wait(for: [done], timeout: 60)
    XCTAssertEqual(log.events, ["cauterized(PromiseKitTests.TestError.dummy)"])
  }

  func testFinalizerOfAPromiseThatGoesAway() {
    do {
      let (promise, _) = Promise<Int>.pending()
      promise.catch { _ in }
    }
    XCTAssertEqual(
      log.events.sorted(), ["pendingGuaranteeDeallocated", "pendingPromiseDeallocated"])
  }

  func testErrorsAreNotReported() throws {
    // Pledge writes its report to standard error when the last reference is released.
    let text = try output(of: 2) {
      _ = Promise<Int>(error: TestError.dummy)
      _ = Promise<Int> { $0.reject(TestError.dummy) }
      _ = Promise<Int> { _ in throw TestError.dummy }
      _ = Promise.value(1).map(on: nil) { _ in throw TestError.dummy }
      _ = Promise.value(1).done(on: nil) { _ in throw TestError.dummy }
      _ = Promise.value(1).get(on: nil) { _ in throw TestError.dummy }
      _ = Promise.value(1).tap(on: nil) { _ in }.compactMap(on: nil) { _ -> Int? in nil }
      _ = Promise.value(1).then(on: nil) { _ -> Promise<Int> in throw TestError.dummy }
      _ = Promise<Int>(error: TestError.dummy).recover(on: nil) { error -> Promise<Int> in
        throw error
      }
      _ = Promise<Int>(error: PMKError.cancelled).recover(on: nil) { _ in Promise.value(1) }
      _ = Promise<Int>(error: TestError.dummy).ensure(on: nil) {}
      _ = when(fulfilled: [Promise<Int>(error: TestError.dummy)])
      _ = when(fulfilled: Promise<Int>(error: TestError.dummy), Promise.value(1))
      _ = when(resolved: [Promise<Int>(error: TestError.dummy)])
      var numbers = [1, 2, 3].makeIterator()
      let work = AnyIterator { numbers.next().map { _ in Promise<Int>(error: TestError.dummy) } }
      _ = when(fulfilled: work, concurrently: 1)
      _ = race(Promise<Int>(error: TestError.dummy), Promise.value(1))
      _ = race(fulfilled: [Promise<Int>(error: TestError.dummy)])
      _ = race([Promise<Int>]())
      _ = firstly { () -> Promise<Int> in throw TestError.dummy }
    }
    XCTAssertEqual(text, "")
  }
}
