import Dispatch
import Promises
import XCTest

// Swift 6 code that uses the drop-in module must compile without a warning.

/// A value that isn't `Sendable`, which the program must synchronize itself.
private final class Box { let number = 1 }

final class Swift6Tests: XCTestCase {
  func testPromiseOfAnyValue_resolvedInSendableClosure_fulfills() async throws {
    let promise = Promise<Box>.pending()
    DispatchQueue.global().async { promise.fulfill(Box()) }
    let number = try await promise.then(on: .global()) { $0.number }.get()
    XCTAssertEqual(number, 1)
  }

  func testFunctionsThatResolveAPromise_mayBeSent() async throws {
    @Sendable func load(_ completion: @escaping @Sendable (Int?, (any Error)?) -> Void) {
      DispatchQueue.global().async { completion(2, nil) }
    }
    let promise = Promise<Int> { fulfill, reject in
      load { value, error in
        if let error { reject(error) } else { fulfill(value ?? 0) }
      }
    }
    let wrapped = wrap { handler in load(handler) }
    let values = try await (promise.get(), wrapped.get())
    XCTAssertEqual(values.0, 2)
    XCTAssertEqual(values.1, 2)
  }

  func testMaybeOfAnyValue_capturedInTask_keepsValue() async {
    let maybe = Maybe(Box())
    let number = await Task.detached { maybe.value?.number }.value
    XCTAssertEqual(number, 1)
  }
}
