#if Deprecations
  import PromiseKit
  import XCTest

  /// The names that the package trait `Deprecations` adds.
  @available(*, deprecated)
  final class DeprecationTests: PromiseKitTestCase {
    func testWrap() {
      XCTAssertEqual(wrap { (done: @escaping (Int?, Error?) -> Void) in done(1, nil) }.value, 1)
      XCTAssertEqual(wrap { (done: @escaping (Int, Error?) -> Void) in done(2, nil) }.value, 2)
      XCTAssertEqual(wrap { (done: @escaping (Error?, Int?) -> Void) in done(nil, 3) }.value, 3)
      XCTAssertTrue(wrap { (done: @escaping (Error?) -> Void) in done(nil) }.isFulfilled)
      XCTAssertEqual(wrap { (done: @escaping (Int) -> Void) in done(4) }.value, 4)
    }

    func testOperators() throws {
      let numbers = Promise.value([3, 1, 2])
      XCTAssertEqual(try value(of: numbers.always {}), [3, 1, 2])
      XCTAssertEqual(try value(of: numbers.filter { $0 > 1 }), [3, 2])
      XCTAssertEqual(numbers.first.value, 3)
      XCTAssertEqual(numbers.last.value, 2)
      XCTAssertEqual(try value(of: numbers.sorted()), [1, 2, 3])
    }
  }
#endif
