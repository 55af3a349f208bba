import PromiseKit
import XCTest

final class PromiseTests: PromiseKitTestCase {
  func testInitializers() {
    XCTAssertEqual(Promise.value(1).value, 1)
    XCTAssertEqual(Promise<Int>(error: TestError.dummy).error as? TestError, .dummy)
    XCTAssertEqual(Promise(Guarantee.value(2)).value, 2)
    XCTAssertEqual(Promise<Int> { $0.fulfill(3) }.value, 3)
    XCTAssertEqual(Promise<Int> { seal in seal.reject(TestError.dummy) }.isRejected, true)
    XCTAssertEqual(Promise<Int> { _ in throw TestError.dummy }.error as? TestError, .dummy)
    XCTAssertTrue(Promise().isFulfilled)
    XCTAssertTrue(Promise<Void>.value.isFulfilled)
    let pair = Promise<Int>.pending()
    pair.resolver.fulfill(4)
    XCTAssertEqual(pair.promise.value, 4)
    let (promise, seal) = Promise<Int>.pending()
    seal.fulfill(5)
    XCTAssertEqual(promise.value, 5)
  }

  func testThrowAfterResolutionIsIgnored() {
    let promise = Promise<Int> { seal in
      seal.fulfill(1)
      throw TestError.dummy
    }
    XCTAssertEqual(promise.value, 1)
  }

  func testBridgeOfForeignThenable() {
    let foreign = Foreign<Int>()
    let promise = Promise(foreign)
    XCTAssertTrue(promise.isPending)
    foreign.resolve(.fulfilled(1))
    XCTAssertEqual(promise.value, 1)
  }

  func testImplicitMember() throws {
    func value() -> Promise<Int> { .value(1) }
    XCTAssertEqual(try self.value(of: value().then { x -> Promise<Int> in .value(x + 1) }), 2)
  }

  func testFirstResolutionWins() {
    let (promise, seal) = Promise<Int>.pending()
    seal.fulfill(1)
    seal.fulfill(2)
    seal.reject(TestError.dummy)
    seal.resolve(.fulfilled(3))
    XCTAssertEqual(promise.value, 1)
  }

  func testPipeCallsInPlaceWhenResolved() {
    var seen: Int?
    Promise.value(1).pipe { seen = ($0.isFulfilled) ? 1 : 0 }
    XCTAssertEqual(seen, 1)
  }

  func testPipeCallsInOrderInsideTheResolvingCall() {
    let (promise, seal) = Promise<Int>.pending()
    var seen: [Int] = []
    for number in 0..<5 { promise.pipe { _ in seen.append(number) } }
    XCTAssertEqual(seen, [])
    seal.fulfill(1)
    XCTAssertEqual(seen, [0, 1, 2, 3, 4])
  }

  func testPipeInsideAHandler() {
    let (promise, seal) = Promise<Int>.pending()
    var seen: [String] = []
    promise.pipe { _ in
      promise.pipe { _ in seen.append("inner") }
      seen.append("outer")
    }
    seal.fulfill(1)
    XCTAssertEqual(seen, ["inner", "outer"])
  }

  func testStateQueries() {
    let (promise, seal) = Promise<Int>.pending()
    XCTAssertTrue(promise.isPending)
    XCTAssertFalse(promise.isResolved || promise.isFulfilled || promise.isRejected)
    XCTAssertNil(promise.value)
    XCTAssertNil(promise.error)
    XCTAssertNil(promise.result)
    seal.fulfill(1)
    XCTAssertTrue(promise.isResolved && promise.isFulfilled)
    XCTAssertFalse(promise.isPending || promise.isRejected)
    let rejected = Promise<Int>(error: TestError.dummy)
    XCTAssertTrue(rejected.isRejected && rejected.isResolved)
    XCTAssertFalse(rejected.isFulfilled || rejected.isPending)
    XCTAssertTrue(Promise<Int?>.value(nil).isFulfilled)
    XCTAssertFalse(PromiseKit.Result<Int>.rejected(TestError.dummy).isFulfilled)
  }

  func testDescriptions() {
    XCTAssertEqual(
      Promise<Int>.pending().promise.debugDescription, "Promise<Int>.pending(handlers: 0)")
    XCTAssertEqual(Promise().debugDescription, "Promise<()>.fulfilled(())")
    XCTAssertEqual(
      Promise<String>(error: TestError.dummy).debugDescription,
      "Promise<String>.rejected(TestError.dummy)")
    XCTAssertEqual("\(Promise<Int>.pending().promise)", "Promise(…Int)")
    XCTAssertEqual("\(Promise.value(3))", "Promise(3)")
    XCTAssertEqual("\(Promise<Void>(error: TestError.dummy))", "Promise(dummy)")
  }

  func testDebugDescriptionCountsHandlers() {
    let (promise, seal) = Promise<Int>.pending()
    promise.pipe { _ in }
    _ = promise.map { $0 }
    _ = Promise(promise)
    XCTAssertEqual(promise.debugDescription, "Promise<Int>.pending(handlers: 3)")
    seal.fulfill(1)
  }

  func testWait() throws {
    let promise = after(.milliseconds(5)).then(on: nil) { Promise.value(1) }
    XCTAssertEqual(try promise.wait(), 1)
    XCTAssertEqual(log.events, ["waitOnMainThread"])
    XCTAssertEqual(try promise.wait(), 1)
    XCTAssertEqual(log.events, ["waitOnMainThread", "waitOnMainThread"])
    XCTAssertThrowsError(try Promise<Int>(error: TestError.dummy).wait())
    XCTAssertEqual(log.events.count, 3)
    XCTAssertEqual(after(.milliseconds(5)).map(on: nil) { 7 }.wait(), 7)
    XCTAssertEqual(log.events.count, 4)
  }

  func testWaitOffTheMainThreadDoesNotLog() throws {
    let promise = DispatchQueue.global().async(.promise) { () throws -> Int in
      after(.milliseconds(1)).map(on: nil) { 8 }.wait()
    }
    XCTAssertEqual(try value(of: promise), 8)
    XCTAssertEqual(log.events, [])
  }

  func testUpstreamKeepsDownstream() {
    let (promise, seal) = Promise<Int>.pending()
    let recorder = Recorder<Int>()
    do { _ = promise.map(on: nil) { $0 + 1 }.done(on: nil) { recorder.record($0) } }
    seal.fulfill(1)
    XCTAssertEqual(recorder.events, [2])
  }

  func testNonSendableValues() throws {
    final class Model { var name = "a" }
    let model = Model()
    var changes = 0
    let promise = Promise.value(model).get { $0.name = "b" }.done { _ in changes += 1 }
    try value(of: promise)
    XCTAssertEqual(model.name, "b")
    XCTAssertEqual(changes, 1)
  }
}
