import PromiseKit
import XCTest

final class WhenTests: PromiseKitTestCase {
  func testArray() throws {
    let promises = [3, 1, 2].map { n in after(.milliseconds(n)).map { n } }.map { Promise($0) }
    XCTAssertEqual(try value(of: when(fulfilled: promises)), [3, 1, 2])
    XCTAssertEqual(when(fulfilled: [Promise<Int>]()).value, [])
    XCTAssertTrue(when(fulfilled: [Promise<Void>]()).isFulfilled)
  }

  func testRejectionWinsAtOnce() {
    let (pending, seal) = Promise<Int>.pending()
    let all = when(fulfilled: [pending, Promise(error: TestError.dummy)])
    XCTAssertEqual(all.error as? TestError, .dummy)
    seal.fulfill(1)
    XCTAssertEqual(pending.value, 1)
  }

  func testVoid() throws {
    let a: Promise<Void> = when(fulfilled: Promise(), Promise(), Promise())
    try value(of: a)
    let b: Promise<Void> = when(fulfilled: [Promise(), Promise()])
    try value(of: b)
    let c: Promise<[Void]> = when(fulfilled: [Promise(), Promise()])
    XCTAssertEqual(try value(of: c).count, 2)
    try value(of: when(fulfilled: Guarantee(), Guarantee()).done {})
  }

  func testTuples() throws {
    let (p1, p2) = (Promise.value(1), Promise.value("2"))
    let (p3, p4, p5) = (Promise.value(3.0), Guarantee.value(true), Promise.value([5]))
    XCTAssertTrue(try value(of: when(fulfilled: p1, p2)) == (1, "2"))
    XCTAssertTrue(try value(of: when(fulfilled: p1, p2, p3)) == (1, "2", 3))
    XCTAssertTrue(try value(of: when(fulfilled: p1, p2, p3, p4)) == (1, "2", 3, true))
    XCTAssertTrue(try value(of: when(fulfilled: p1, p2, p3, p4, p5)) == (1, "2", 3, true, [5]))
    XCTAssertNotNil(error(of: when(fulfilled: p1, Promise<Int>(error: TestError.dummy))))
    when(fulfilled: p1, p2).done { number, text in _ = (number, text) }.cauterize()
  }

  func testExistentials() throws {
    let thenables: [any Thenable] = [Promise.value(1), Guarantee.value("2")]
    let values = try value(of: when(fulfilled: thenables))
    XCTAssertEqual(values[0] as? Int, 1)
    XCTAssertEqual(values[1] as? String, "2")
  }

  func testResolved() throws {
    let results = try value(
      of: when(resolved: Promise.value(1), Promise<Int>(error: TestError.dummy)))
    XCTAssertEqual(results.map(\.isFulfilled), [true, false])
    let array = try value(of: when(resolved: [Promise.value(1), Promise.value(2)]))
    XCTAssertEqual(array.count, 2)
    XCTAssertEqual(when(resolved: [Promise<Int>]()).value?.count, 0)
  }

  func testGuarantees() throws {
    func g(_ value: Int) -> Guarantee<Int> { .value(value) }
    let a: Guarantee<Void> = when(Guarantee(), Guarantee())
    try value(of: a)
    let b: Guarantee<[Int]> = when(g(1), g(2), g(3))
    XCTAssertEqual(try value(of: b), [1, 2, 3])
    let c: Guarantee<Void> = when(guarantees: [Guarantee(), Guarantee()])
    try value(of: c)
    let d: Guarantee<[Int]> = when(guarantees: [g(1), g(2)])
    XCTAssertEqual(try value(of: d), [1, 2])
    let (x, y) = (Guarantee.value("x"), Guarantee.value(2.0))
    XCTAssertTrue(try value(of: when(guarantees: g(1), x)) == (1, "x"))
    XCTAssertTrue(try value(of: when(guarantees: g(1), x, y)) == (1, "x", 2))
    XCTAssertTrue(try value(of: when(guarantees: g(1), x, y, g(4))) == (1, "x", 2, 4))
    XCTAssertTrue(try value(of: when(guarantees: g(1), x, y, g(4), x)) == (1, "x", 2, 4, "x"))
    XCTAssertEqual(when(guarantees: [Guarantee<Int>]()).value, [])
    XCTAssertTrue(when(guarantees: [Guarantee<Void>]()).isFulfilled)
  }
}

final class WhenConcurrentlyTests: PromiseKitTestCase {
  func testLimitAndOrder() throws {
    var (started, running, most) = (0, 0, 0)
    let work = AnyIterator<Promise<Int>> {
      guard started < 20 else { return nil }
      started += 1
      running += 1
      most = max(most, running)
      let number = started
      return after(.milliseconds(20 - number)).map { () -> Int in
        running -= 1
        return number
      }.map { $0 } as Promise<Int>
    }
    let all = when(fulfilled: work, concurrently: 4)
    XCTAssertEqual(started, 4)
    XCTAssertEqual(try value(of: all), Array(1...20))
    XCTAssertLessThanOrEqual(most, 5)
  }

  func testBadInput() {
    let work = AnyIterator<Promise<Int>> {
      XCTFail()
      return nil
    }
    assertError(when(fulfilled: work, concurrently: 0).error, .badInput)
    let results = when(resolved: work, concurrently: -1).value
    XCTAssertEqual(results?.count, 1)
    guard case .rejected(PMKError.badInput)? = results?.first else { return XCTFail() }
  }

  func testEmpty() {
    let none = AnyIterator<Promise<Int>> { nil }
    XCTAssertEqual(when(fulfilled: none, concurrently: 2).value, [])
    XCTAssertEqual(when(resolved: none, concurrently: 2).value?.count, 0)
  }

  func testRejectionEndsTheDequeuing() {
    var started = 0
    let work = AnyIterator<Promise<Int>> {
      started += 1
      return started == 3 ? Promise(error: TestError.dummy) : .value(started)
    }
    XCTAssertEqual(when(fulfilled: work, concurrently: 1).error as? TestError, .dummy)
    XCTAssertEqual(started, 3)
  }

  func testResolvedGoesOnAfterARejection() throws {
    var started = 0
    let work = AnyIterator<Promise<Int>> {
      started += 1
      guard started < 6 else { return nil }
      return started == 3 ? Promise(error: TestError.dummy) : .value(started)
    }
    let results = try value(of: when(resolved: work, concurrently: 2))
    XCTAssertEqual(results.map(\.isFulfilled), [true, true, false, true, true])
  }

  func testDequeuesOnTheResolvingThread() {
    var seals: [Resolver<Int>] = []
    let work = AnyIterator<Promise<Int>> {
      guard seals.count < 3 else { return nil }
      return Promise { seals.append($0) }
    }
    let all = when(fulfilled: work, concurrently: 1)
    XCTAssertEqual(seals.count, 1)
    seals[0].fulfill(1)
    XCTAssertEqual(seals.count, 2)
    seals[1].fulfill(2)
    seals[2].fulfill(3)
    XCTAssertEqual(all.value, [1, 2, 3])
  }

  func testDroppedInputLogs() {
    do {
      let work = AnyIterator<Promise<Int>> { Promise<Int>.pending().promise }
      _ = when(fulfilled: work, concurrently: 1)
    }
    XCTAssertEqual(log.events.first, "pendingPromiseDeallocated")
  }
}

final class RaceTests: PromiseKitTestCase {
  func testFirstToResolve() throws {
    let slow = after(.seconds(100_000)).map { 1 }
    let fast = after(.milliseconds(1)).map { 2 }
    let guarantee: Guarantee<Int> = race(slow, fast)
    XCTAssertEqual(try value(of: guarantee), 2)
    let array: Promise<Int> = race([slow, fast])
    XCTAssertEqual(array.value, 2)
    XCTAssertEqual(race(Promise.value(1), Promise.value(2)).value, 1)
    let failed = race(Promise<Int>(error: TestError.dummy), Promise.value(1))
    XCTAssertEqual(failed.error as? TestError, .dummy)
    let first = race([Promise.value(1), Promise(error: TestError.dummy)])
    XCTAssertEqual(first.value, 1)
  }

  func testLosersGoOn() {
    let (loser, seal) = Promise<Int>.pending()
    XCTAssertEqual(race(loser, .value(1)).value, 1)
    XCTAssertTrue(loser.isPending)
    seal.fulfill(2)
    XCTAssertEqual(loser.value, 2)
  }

  func testEmpty() {
    assertError(race([Promise<Int>]()).error, .badInput)
    assertError(race(fulfilled: [Promise<Int>]()).error, .badInput)
  }

  func testFulfilled() {
    let failed = Promise<Int>(error: TestError.dummy)
    XCTAssertEqual(race(fulfilled: [failed, .value(2)]).value, 2)
    assertError(race(fulfilled: [failed, failed]).error, .noWinner)
  }
}
