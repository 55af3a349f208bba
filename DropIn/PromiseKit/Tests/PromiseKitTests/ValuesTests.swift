import PromiseKit
import XCTest

final class ValuesTests: PromiseKitTestCase {
  private let numbers = Promise.value([3, 1, 2])
  private let sure = Guarantee.value([3, 1, 2])

  func testPromise() throws {
    XCTAssertEqual(try value(of: numbers.mapValues { $0 * 2 }), [6, 2, 4])
    XCTAssertEqual(try value(of: Promise.value(["a", "bb"]).mapValues(\.count)), [1, 2])
    XCTAssertEqual(try value(of: numbers.flatMapValues { [$0, $0] }), [3, 3, 1, 1, 2, 2])
    XCTAssertEqual(try value(of: numbers.compactMapValues { $0 > 1 ? "\($0)" : nil }), ["3", "2"])
    XCTAssertEqual(try value(of: numbers.thenMap { Promise.value($0 + 1) }), [4, 2, 3])
    XCTAssertEqual(try value(of: numbers.thenMap { Guarantee.value($0 + 1) }), [4, 2, 3])
    XCTAssertEqual(
      try value(of: numbers.thenFlatMap { Promise.value([$0, 0]) }), [3, 0, 1, 0, 2, 0])
    XCTAssertEqual(try value(of: numbers.filterValues { $0 > 1 }), [3, 2])
    XCTAssertEqual(try value(of: numbers.sortedValues()), [1, 2, 3])
    XCTAssertEqual(numbers.firstValue.value, 3)
    XCTAssertEqual(numbers.lastValue.value, 2)
    XCTAssertEqual(try value(of: numbers.firstValue { $0 < 3 }), 1)
    XCTAssertEqual(try value(of: numbers.firstValue(where: { $0 < 3 })), 1)
  }

  func testErrors() {
    XCTAssertNotNil(error(of: numbers.mapValues { _ in throw TestError.dummy }))
    XCTAssertNotNil(error(of: numbers.flatMapValues { _ -> [Int] in throw TestError.dummy }))
    XCTAssertNotNil(error(of: numbers.compactMapValues { _ -> Int? in throw TestError.dummy }))
    XCTAssertNotNil(error(of: numbers.thenMap { _ -> Promise<Int> in throw TestError.dummy }))
    XCTAssertNotNil(error(of: numbers.thenFlatMap { _ in Promise<[Int]>(error: TestError.dummy) }))
    let none = Promise.value([Int]())
    assertError(none.firstValue.error, .emptySequence)
    assertError(none.lastValue.error, .emptySequence)
    assertError(error(of: numbers.firstValue { $0 > 9 }), .emptySequence)
  }

  func testGuarantee() throws {
    XCTAssertEqual(try value(of: sure.mapValues { $0 * 2 } as Guarantee), [6, 2, 4])
    XCTAssertEqual(
      try value(of: sure.flatMapValues { [$0, $0] } as Guarantee), [3, 3, 1, 1, 2, 2])
    XCTAssertEqual(
      try value(of: sure.compactMapValues { $0 > 1 ? "\($0)" : nil } as Guarantee), ["3", "2"])
    XCTAssertEqual(try value(of: sure.thenMap { .value($0 + 1) } as Guarantee), [4, 2, 3])
    XCTAssertEqual(
      try value(of: sure.thenFlatMap { Guarantee.value([$0, 0]) } as Guarantee), [3, 0, 1, 0, 2, 0])
    XCTAssertEqual(try value(of: sure.filterValues { $0 > 1 } as Guarantee), [3, 2])
    XCTAssertEqual(try value(of: sure.sortedValues() as Guarantee), [1, 2, 3])
    XCTAssertEqual(try value(of: sure.sortedValues { $0 > $1 } as Guarantee), [3, 2, 1])
    XCTAssertEqual((sure.firstValue as Promise).value, 3)
    XCTAssertEqual(sure.lastValue.value, 2)
    XCTAssertEqual(try value(of: sure.firstValue { $0 == 2 }), 2)
  }

  func testEmpty() throws {
    XCTAssertEqual(try value(of: Promise.value([Int]()).mapValues { $0 }), [])
    XCTAssertEqual(try value(of: Promise.value([Int]()).thenMap { Promise.value($0) }), [])
    XCTAssertEqual(try value(of: Guarantee.value([Int]()).thenMap { Guarantee.value($0) }), [])
  }
}
