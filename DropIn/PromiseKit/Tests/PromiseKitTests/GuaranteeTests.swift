import PromiseKit
import XCTest

final class GuaranteeTests: PromiseKitTestCase {
  func testInitializers() throws {
    XCTAssertEqual(Guarantee.value(1).value, 1)
    XCTAssertEqual(Guarantee { seal in seal(2) }.value, 2)
    XCTAssertTrue(Guarantee().isFulfilled)
    XCTAssertTrue(Guarantee<Void>.value.isFulfilled)
    let (guarantee, resolve) = Guarantee<Int>.pending()
    XCTAssertTrue(guarantee.isPending)
    resolve(3)
    resolve(4)
    XCTAssertEqual(guarantee.value, 3)
    let pair = Guarantee<Int>.pending()
    pair.resolve(5)
    XCTAssertEqual(pair.guarantee.value, 5)
    func callback(_ completion: @escaping (Int) -> Void) { completion(6) }
    XCTAssertEqual(Guarantee(resolver: callback).value, 6)
  }

  func testPipe() {
    var seen: Int?
    Guarantee.value(1).pipe { (result: PromiseKit.Result<Int>) in
      if case .fulfilled(let value) = result { seen = value }
    }
    XCTAssertEqual(seen, 1)
    let (guarantee, resolve) = Guarantee<Int>.pending()
    guarantee.pipe { result in
      if case .fulfilled(let value) = result { seen = value }
    }
    resolve(2)
    XCTAssertEqual(seen, 2)
  }

  func testOperatorsReturnGuarantees() throws {
    let a: Guarantee<Int> = Guarantee.value(1).map { $0 + 1 }
    let b: Guarantee<Int> = a.then { .value($0 + 1) }
    let c: Guarantee<Int> = b.get { XCTAssertEqual($0, 3) }
    let d: Guarantee<Void> = c.done { XCTAssertEqual($0, 3) }
    let e: Guarantee<Void> = d.asVoid()
    try value(of: e)
    Guarantee.value(1).done { _ in }
    Guarantee.value(1).then { _ in Guarantee.value(1) }
  }

  func testThrowingClosuresMakePromises() throws {
    let a: Promise<Int> = Guarantee.value(1).map { _ in throw TestError.dummy }
    XCTAssertNotNil(error(of: a))
    let b = Guarantee.value(1).then { Promise.value($0) }
    XCTAssertEqual(try value(of: b), 1)
    b.catch { _ in }
    let c = Guarantee.value(1).done { _ in throw TestError.dummy }
    c.catch { _ in }
    let d: Promise<Int> = Guarantee.value("1").compactMap { Int($0) }
    XCTAssertEqual(try value(of: d), 1)
    let e: Promise<Int> = Guarantee.value(1).tap { _ in }
    XCTAssertEqual(try value(of: e), 1)
  }

  func testDroppedGuaranteeLogs() {
    do { _ = Guarantee<Int>.pending() }
    XCTAssertEqual(log.events, ["pendingGuaranteeDeallocated"])
    do { _ = Guarantee<Int> { _ in } }
    XCTAssertEqual(log.events.count, 2)
    do {
      let (_, resolve) = Guarantee<Int>.pending()
      resolve(1)
    }
    XCTAssertEqual(log.events.count, 2)
  }

  func testFunctionAndObjectKeepTheStorage() {
    var resolve: ((Int) -> Void)?
    do { resolve = Guarantee<Int>.pending().resolve }
    var guarantee: Guarantee<Int>? = Guarantee<Int>.pending().guarantee
    XCTAssertTrue(resolve != nil && guarantee?.isPending == true)
    XCTAssertEqual(log.events, [])
    resolve = nil
    XCTAssertEqual(log.events.count, 1)
    guarantee = nil
    XCTAssertEqual(log.events.count, 2)
  }

  func testDroppedChainLogsOncePerLink() {
    do {
      let (guarantee, _) = Guarantee<Int>.pending()
      guarantee.map { $0 }.then { Guarantee.value($0) }.done { _ in }
    }
    XCTAssertEqual(log.events, Array(repeating: "pendingGuaranteeDeallocated", count: 4))
  }

  func testResolvedChainLogsNothing() throws {
    let (guarantee, resolve) = Guarantee<Int>.pending()
    let end = guarantee.map { $0 }.then { x in after(.milliseconds(1)).map { x } }.done { _ in }
    guarantee.map(on: nil) { $0 }.then(on: nil) { Guarantee.value($0) }.done(on: nil) { _ in }
    resolve(1)
    try value(of: end)
    let recovered: Guarantee<Int> = Promise.value(1).recover { _ in .value(2) }
    try value(of: recovered.done { _ in })
    let other: Guarantee<Int> = Promise<Int>(error: TestError.dummy).recover { _ in .value(2) }
    try value(of: other.done { _ in })
    _ = try value(of: when(guarantees: [guarantee, .value(2)]))
    _ = try value(of: when(resolved: [Promise.value(1)]))
    XCTAssertEqual(log.events, [])
  }

  func testDroppedInnerGuaranteeLogsForTheOuterOneToo() {
    do { Guarantee.value(1).then(on: nil) { _ in Guarantee<Int>.pending().guarantee } }
    XCTAssertEqual(log.events.count, 2)
  }

  func testDroppedInputOfACombinator() {
    do { _ = when(guarantees: [Guarantee<Int>.pending().guarantee]) }
    XCTAssertEqual(log.events.first, "pendingGuaranteeDeallocated")
  }
}
