import PromiseKit
import XCTest

final class ThenableTests: PromiseKitTestCase {
  func testThen() throws {
    XCTAssertEqual(try value(of: Promise.value(1).then { Promise.value($0 + 1) }), 2)
    XCTAssertEqual(try value(of: Promise.value(1).then { Guarantee.value($0 + 1) } as Promise), 2)
    let failing = Promise.value(1).then { _ -> Promise<Int> in throw TestError.dummy }
    XCTAssertEqual(error(of: failing) as? TestError, .dummy)
  }

  func testThenAdoptsForeignThenables() {
    let (outer, inner) = (Foreign<Int>(), Foreign<String>())
    let promise = outer.then(on: nil) { _ in inner }
    outer.resolve(.fulfilled(1))
    XCTAssertTrue(promise.isPending)
    inner.resolve(.fulfilled("x"))
    XCTAssertEqual(promise.value, "x")
  }

  func testRejectionSkipsBodiesInPlace() {
    let (promise, seal) = Promise<Int>.pending()
    let end = promise.map { _ in XCTFail() }.then { Promise.value(1) }.done { _ in XCTFail() }
    seal.reject(TestError.dummy)
    XCTAssertEqual(end.error as? TestError, .dummy)
  }

  func testReturningSelf() {
    var promise: Promise<Int>!
    promise = after(.milliseconds(1)).then { () -> Promise<Int> in promise }
    assertError(error(of: promise), .returnedSelf)

    var recovered: Promise<Void>!
    recovered = after(.milliseconds(1)).done { throw TestError.dummy }
      .recover { _ -> Promise<Void> in recovered }
    assertError(error(of: recovered), .returnedSelf)

    let first = Promise()
    first.then(on: nil) { first }.catch(on: nil) { _ in XCTFail() }
  }

  func testMap() throws {
    XCTAssertEqual(try value(of: Promise.value(1).map { "\($0)" }), "1")
    XCTAssertEqual(try value(of: Promise.value("abc").map(\.count)), 3)
    XCTAssertNotNil(error(of: Promise.value(1).map { _ -> Int in throw TestError.dummy }))
  }

  func testCompactMap() throws {
    XCTAssertEqual(try value(of: Promise.value("1").compactMap { Int($0) }), 1)
    XCTAssertEqual(try value(of: Promise.value("1").compactMap(Int.init)), 1)
    XCTAssertNotNil(error(of: Promise.value(1).compactMap { _ -> Int? in throw TestError.dummy }))
    guard
      case PMKError.compactMap(let value, let type)? =
        error(of: Promise.value("x").compactMap { Int($0) })
    else { return XCTFail() }
    XCTAssertEqual(value as? String, "x")
    XCTAssertTrue(type == Int.self)
  }

  func testDoneGetTapAsVoid() throws {
    let recorder = Recorder<String>()
    try value(of: Promise.value(1).done { recorder.record("done \($0)") })
    XCTAssertEqual(try value(of: Promise.value(2).get { recorder.record("get \($0)") }), 2)
    XCTAssertEqual(try value(of: Promise.value(3).tap { recorder.record("tap \($0)") }), 3)
    XCTAssertNotNil(error(of: Promise.value(1).get { _ in throw TestError.dummy }))
    XCTAssertNotNil(error(of: Promise.value(1).done { _ in throw TestError.dummy }))
    let rejected = Promise<Int>(error: TestError.dummy).tap {
      recorder.record("tap \($0.isFulfilled)")
    }
    XCTAssertEqual(error(of: rejected) as? TestError, .dummy)
    XCTAssertEqual(recorder.events, ["done 1", "get 2", "tap fulfilled(3)", "tap false"])
    XCTAssertTrue(Promise.value(1).asVoid().isFulfilled)
  }

  func testDefaultQueuesAreRead() throws {
    let map = DispatchQueue(label: "map")
    let end = DispatchQueue(label: "return")
    func on<Value>(_ queue: DispatchQueue, _ value: Value) -> Value {
      dispatchPrecondition(condition: .onQueue(queue))
      return value
    }
    conf.Q = (map: map, return: end)
    let promise = Promise.value(1)
      .map { on(map, $0) }
      .then { on(map, Promise.value($0)) }
      .compactMap { (number: Int) -> [Int]? in on(map, [number]) }
      .mapValues { on(map, $0) }
      .tap { _ in on(map, ()) }
      .get { _ in on(end, ()) }
      .done { _ in on(end, ()) }
      .ensure { on(end, ()) }
      .map { throw TestError.dummy }
      .recover { error in on(map, Promise<Void>(error: error)) }
    let done = expectation(description: "")
    promise.catch { _ in on(end, ()) }.finally { on(end, done.fulfill()) }
    wait(for: [done], timeout: 60)
    conf.Q = (map: nil, return: nil)
    XCTAssertEqual(Promise.value(1).map { $0 + 1 }.value, 2)
  }

  func testHandlersHopEvenWhenAlreadyOnTheQueue() throws {
    let recorder = Recorder<String>()
    let inner = Promise().done {
      Promise().done { recorder.record("handler") }.cauterize()
      recorder.record("after")
    }
    XCTAssertEqual(recorder.events, [])
    try value(of: inner)
    try value(of: Promise().done {})
    XCTAssertEqual(recorder.events, ["after", "handler"])
  }

  func testHandlersOfOneQueueRunInOrder() throws {
    let (promise, seal) = Promise<Int>.pending()
    let recorder = Recorder<Int>()
    promise.done { _ in recorder.record(0) }.cauterize()
    _ = promise.ensure { recorder.record(1) }
    promise.recover { _ in .value(1) }.done(on: nil) { _ in }
    _ = promise.map { _ in recorder.record(2) }
    seal.fulfill(1)
    _ = promise.get { _ in recorder.record(3) }
    try value(of: promise.done { _ in recorder.record(4) })
    XCTAssertEqual(recorder.events, [0, 1, 2, 3, 4])
  }

  func testFlags() throws {
    let queue = DispatchQueue(label: "flags", attributes: .concurrent)
    let promise = Promise.value(1).map(on: queue, flags: .barrier) { _ in
      dispatchPrecondition(condition: .onQueueAsBarrier(queue))
    }.done(on: queue) { dispatchPrecondition(condition: .onQueue(queue)) }
    try value(of: promise)
    XCTAssertEqual(Promise.value(1).map(on: nil, flags: .barrier) { $0 }.value, 1)
  }

  func testWaitingOnAConcurrentQueueInsideAHandlerOnIt() throws {
    let global = DispatchQueue.global()
    let promise = Promise.value(1).map(on: global) { _ -> Int in
      try Promise.value(2).map(on: global) { $0 + 1 }.wait()
    }
    XCTAssertEqual(try value(of: promise), 3)
  }

  /// The loops that PromiseKit's documentation recommends.
  func testRetryAndSequence() throws {
    func attempt<T>(_ body: @escaping () -> Promise<T>) -> Promise<T> {
      var attempts = 0
      func attempt() -> Promise<T> {
        attempts += 1
        return body().recover { error -> Promise<T> in
          guard attempts < 3 else { throw error }
          return after(.milliseconds(1)).then(attempt)
        }
      }
      return attempt()
    }
    var failures = 2
    let succeeding = attempt { () -> Promise<Int> in
      failures -= 1
      return failures < 0 ? .value(1) : Promise(error: TestError.dummy)
    }
    XCTAssertEqual(try value(of: succeeding), 1)
    XCTAssertNotNil(error(of: attempt { Promise<Int>(error: TestError.dummy) }))

    var fade = Guarantee()
    var order: [Int] = []
    for number in 0..<5 {
      fade = fade.then { after(.milliseconds(1)) }.done { order.append(number) }
    }
    try value(of: fade)
    XCTAssertEqual(order, [0, 1, 2, 3, 4])
    let numbers = [1, 2, 3].reduce(Promise.value([Int]())) { chain, number in
      chain.then { numbers in Promise.value(numbers + [number]) }
    }
    XCTAssertEqual(try value(of: numbers), [1, 2, 3])
  }

  func testForeignCatchMixin() throws {
    let foreign = Foreign<Int>()
    let done = expectation(description: "")
    foreign.catch { error in XCTAssertEqual(error as? TestError, .dummy) }
      .finally { done.fulfill() }
    foreign.resolve(.rejected(TestError.dummy))
    wait(for: [done], timeout: 60)
    XCTAssertTrue(foreign.isRejected)
    XCTAssertEqual(try value(of: foreign.recover { _ in Promise.value(3) }), 3)
  }
}
