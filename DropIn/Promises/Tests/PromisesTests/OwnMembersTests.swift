import XCTest

@testable import Promises

// Members that a program declares with the names of those that only this module has.

extension Promise {
  fileprivate var pledge: String { "own" }
  fileprivate func get() async throws -> String { "own" }
  fileprivate convenience init(pledge: Int) { self.init() }
}

final class OwnMembersTests: XCTestCase {
  func test_membersOfTheProgram_takePrecedence() async throws {
    let pledge = Promise(1).pledge
    let value = try await Promise(1).get()
    XCTAssertEqual(pledge, "own")
    XCTAssertEqual(value, "own")
    XCTAssertTrue(Promise<String>(pledge: 1).isPending)
  }
}
