import PromiseKit
import XCTest

// Members that a program declares with the names of those that only this module has.

extension Promise {
  fileprivate var pledge: String { "own" }
}

extension Guarantee {
  fileprivate var pledge: String { "own" }
}

final class OwnMembersTests: XCTestCase {
  func testMembersOfTheProgramTakePrecedence() {
    let promised = Promise.value(1).pledge
    let guaranteed = Guarantee.value(1).pledge
    XCTAssertEqual(promised, "own")
    XCTAssertEqual(guaranteed, "own")
  }
}
