import Pledge
import PromiseKit
import XCTest

/// Conversions between PromiseKit and Pledge.
final class BridgeTests: XCTestCase {
  func testToPledge() async throws {
    let (promise, seal) = PromiseKit.Promise<Int>.pending()
    let pledge: Pledge.Promise<Int> = promise.pledge
    seal.fulfill(1)
    let value = try await pledge.value
    XCTAssertEqual(value, 1)
    let sure = await PromiseKit.Guarantee.value(2).pledge.value
    XCTAssertEqual(sure, 2)
  }

  func testToPromiseKit() {
    XCTAssertEqual(Pledge.Promise.value(1).promiseKit.value, 1)
    XCTAssertEqual(Pledge.Guarantee.value(2).promiseKit.value, 2)
    let failed = Pledge.Promise<Int>.rejected(PMKError.badInput).promiseKit
    XCTAssertTrue(failed.isRejected)
  }

  func testCancellationIsSeen() {
    let (promise, seal) = PromiseKit.Promise<Int>.pending()
    promise.pledge.cancel()
    XCTAssertTrue(promise.error?.isCancelled ?? false)
    seal.fulfill(1)
    XCTAssertTrue(promise.isRejected)
  }
}
