import Foundation
import Pledge
import PromiseKit
import XCTest

/// Conversions between PromiseKit and Pledge.
final class BridgeTests: PromiseKitTestCase {
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

  func testCancellationDoesNotReachThePromise() {
    let (promise, seal) = PromiseKit.Promise<Int>.pending()
    let pledge = promise.pledge
    pledge.cancel()
    XCTAssertTrue(isCancellation(pledge.currentResult))
    XCTAssertTrue(promise.isPending)
    seal.fulfill(1)
    XCTAssertEqual(promise.value, 1)
  }

  func testCancellationDoesNotReachTheGuarantee() {
    let (source, resolve) = PromiseKit.Guarantee<Int>.pending()
    let guarantees = [source, source.map(on: nil) { $0 }, race(source, source)]
    for guarantee in guarantees {
      let pledge = guarantee.pledge.promise
      pledge.cancel()
      XCTAssertTrue(isCancellation(pledge.currentResult))
      XCTAssertTrue(guarantee.isPending)
    }
    resolve(1)
    XCTAssertEqual(guarantees.map(\.value), [1, 1, 1])
  }

  func testCancellationErrors() {
    func converted(_ error: any Error) -> Pledge.Promise<Int> {
      PromiseKit.Promise<Int>(error: error).pledge
    }
    XCTAssertTrue(isCancellation(converted(PMKError.cancelled).currentResult))
    XCTAssertTrue(isCancellation(converted(URLError(.cancelled)).currentResult))
    XCTAssertTrue(isCancellation(converted(CancellationError()).currentResult))
    XCTAssertTrue(converted(PMKError.cancelled).promiseKit.error?.isCancelled ?? false)
    let other = converted(PMKError.badInput)
    XCTAssertFalse(isCancellation(other.currentResult))
    other.ignoreErrors()
  }

  func testErrorsAreReported() {
    let reports = Recorder<String>()
    PromiseDiagnostics.setUnhandledRejectionHandler { reports.record("\($0.error)") }
    defer { PromiseDiagnostics.setUnhandledRejectionHandler(nil) }
    let failed = PromiseKit.Promise<Int>(error: TestError.dummy)
    _ = failed.pledge.map(on: .immediate) { $0 }
    XCTAssertEqual(reports.events, ["dummy"])
    _ = PromiseKit.Promise<Int>(error: PMKError.cancelled).pledge
    _ = failed.pledge.promiseKit
    XCTAssertEqual(reports.events, ["dummy"])
  }

  func testDroppedResolverBreaksThePledge() {
    let promise = PromiseKit.Promise<Int> { _ in }.pledge
    let guarantee = PromiseKit.Guarantee<Int> { _ in }.pledge.promise
    for result in [promise.currentResult, guarantee.currentResult] {
      guard case .failure(let error) = result else { return XCTFail("\(promise), \(guarantee)") }
      XCTAssertTrue(error is BrokenPromiseError)
    }
    promise.ignoreErrors()
    guarantee.ignoreErrors()
  }

  private func isCancellation(_ result: Swift.Result<Int, any Error>?) -> Bool {
    if case .failure(let error) = result { error is CancellationError } else { false }
  }
}
