import Foundation
import XCTest

@testable import Promises

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The examples of two articles on the original, translated from Objective-C to Swift.
final class ArticleTests: XCTestCase {
  private struct Contact: Equatable { let name: String }
  private struct Image: Equatable { let name: String }

  private let someError = NSError(domain: NSCocoaErrorDomain, code: 11)

  private func image(of contact: Contact) -> Promise<Image> {
    Promise<Image>(on: .global()) { Image(name: contact.name) }
  }

  private func work1(_ text: String) -> Promise<String> { Promise<String> { text } }

  private func work2(_ text: String) -> Promise<Int> {
    Promise<Int> {
      guard let number = Int(text), number > 0 else { throw self.someError }
      return number
    }
  }

  private func work3(_ number: Int) -> Int { number * number }

  // MARK: Creating promises

  func test_async() {
    let fulfilled = Promise<String>(on: .main) { fulfill, reject in
      if true { fulfill("Hello world.") } else { reject(self.someError) }
    }
    let both = Promise<Int?> { fulfill, reject in
      fulfill(nil)
      reject(self.someError)
    }
    settle()
    XCTAssertEqual(fulfilled.value, "Hello world.")
    XCTAssertTrue(both.isFulfilled)
  }

  func test_do() {
    func promise(success: Bool) -> Promise<Any> {
      Promise<Any> { () -> Any in success ? "Hello world" : self.someError }
    }
    let (fine, failed) = (promise(success: true), promise(success: false))
    settle()
    XCTAssertEqual(fine.value as? String, "Hello world")
    XCTAssertEqual((failed.error as NSError?)?.code, 11)
  }

  func test_pendingAndResolved() {
    let promise = Promise<String>.pending()
    promise.fulfill("Hello world")
    func data(at url: String) -> Promise<Data?> {
      url.isEmpty ? Promise(nil) : Promise<Data?> { Data(url.utf8) }
    }
    let (none, some) = (data(at: ""), data(at: "url"))
    XCTAssertTrue(none.isFulfilled)
    let rejected = Promise<Int>(NSError(domain: NSCocoaErrorDomain, code: 13))
    settle()
    XCTAssertEqual(promise.value, "Hello world")
    XCTAssertEqual(some.value, Data("url".utf8))
    XCTAssertEqual((rejected.error as NSError?)?.code, 13)
  }

  // MARK: Chaining

  func test_then() {
    let number = Promise(42)
    let promised = number.then { number in Promise<String> { "\(number)" } }
    let plain = number.then { number in "\(number)" }
    let failed = number.then { _ in self.someError }
    let same = number.then { number in _ = number }
    let squared = work1("10").then(work2).then(work3)
    settle()
    XCTAssertEqual(promised.value, "42")
    XCTAssertEqual(plain.value, "42")
    XCTAssertTrue(failed.isRejected)
    XCTAssertEqual(same.value, 42)
    XCTAssertEqual(squared.value, 100)
  }

  func test_catch() {
    let log = Log()
    work1("abc").then { text in
      self.work2(text)
    }.then { number in
      self.work3(number)
    }.then { number in
      log.add("\(number)")
    }.catch { error in
      log.add("Cannot convert string to number: \((error as NSError).code)")
    }.catch { _ in
      log.add("caught a second time")
    }
    settle()
    XCTAssertEqual(log.all, ["Cannot convert string to number: 11", "caught a second time"])
  }

  func test_all() {
    let contacts = [Contact(name: "a"), Contact(name: "b")]
    let images = all(contacts.map { image(of: $0) }).then { images in images.map(\.name) }
    let location = Promise<String> { "here" }
    let both = all(location, image(of: contacts[0])).then { location, image in
      location + image.name
    }
    settle()
    XCTAssertEqual(images.value, ["a", "b"])
    XCTAssertEqual(both.value, "herea")
  }

  func test_always() {
    let log = Log()
    Promise<[Image]>(someError).then { _ in
      log.add("update")
    }.catch { _ in
      log.add("alert")
    }.always {
      log.add("All done.")
    }
    settle()
    XCTAssertEqual(log.all, ["alert", "All done."])
  }

  func test_any() {
    let some = any([Promise<Int>(someError), Promise(1)]).then { results in
      results.map { $0.error == nil ? "value" : "error" }
    }
    let none = any([Promise<Int>(someError)])
    settle()
    XCTAssertEqual(some.value, ["error", "value"])
    XCTAssertTrue(none.isRejected)
  }

  func test_await() {
    func negate(_ number: Int) -> Promise<Int> { Promise<Int>(on: .global()) { -number } }
    func add(_ first: Int, _ second: Int) -> Promise<Int> {
      Promise<Int>(on: .global()) { first + second }
    }
    func multiply(_ first: Int, _ second: Int) -> Promise<Int> {
      Promise<Int>(on: .global()) { first * second }
    }
    func subtract(_ first: Int, _ second: Int) -> Promise<Int> {
      Promise<Int>(on: .global()) { first - second }
    }
    let promise = Promise<Int>(on: DispatchQueue(label: "async", attributes: .concurrent)) {
      let minusFive = try awaitPromise(negate(5))
      let twentyFive = try awaitPromise(multiply(minusFive, minusFive))
      let twenty = try awaitPromise(add(twentyFive, minusFive))
      let five = try awaitPromise(subtract(twentyFive, twenty))
      let zero = try awaitPromise(add(minusFive, five))
      return try awaitPromise(multiply(zero, five))
    }
    settle()
    XCTAssertEqual(promise.value, 0)
  }

  func test_await_ofWhatIsFulfilledOnTheMainQueue() {
    let routine = Promise<String>.pending()
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) {
      DispatchQueue.promises.async { routine.fulfill("await") }
    }
    let promise = Promise<String>(on: DispatchQueue(label: "async", attributes: .concurrent)) {
      try awaitPromise(routine)
    }
    settle()
    XCTAssertEqual(promise.value, "await")
  }

  func test_delay() {
    let start = Date()
    let promise = Promise<String> { "delay" }.delay(0.1)
    settle()
    XCTAssertEqual(promise.value, "delay")
    XCTAssertGreaterThanOrEqual(Date().timeIntervalSince(start), 0.1)
  }

  func test_race() {
    let promise = race([Promise("race1"), Promise("race2")])
    settle()
    XCTAssertEqual(promise.value, "race1")
  }

  func test_recover() {
    let promise = Promise<[Image]>(someError).recover { _ in
      Promise<[Image]> { [Image(name: "default")] }
    }.then { images in images.count }
    settle()
    XCTAssertEqual(promise.value, 1)
  }

  func test_reduce() {
    let promise = Promise("0").reduce([1, 2, 3]) { text, number in Promise("\(text), \(number)") }
    settle()
    XCTAssertEqual(promise.value, "0, 1, 2, 3")
  }

  func test_retry() {
    let unreachable = URLError(.notConnectedToInternet)
    let log = Log()
    func fetch(failing count: Int) -> Promise<(Data?, URLResponse?)> {
      wrap { (handler: @escaping (Data?, URLResponse?, Error?) -> Void) in
        log.add("fetch")
        handler(Data(), nil, log.count > count ? nil : unreachable)
      }
    }
    let promise = retry(
      on: .global(), attempts: 5, delay: 0.01,
      condition: { _, error in
        (error as NSError).code == URLError.Code.notConnectedToInternet.rawValue
      }
    ) { fetch(failing: 2) }
    settle()
    XCTAssertEqual(promise.value?.0, Data())
    XCTAssertEqual(log.count, 3)
    let other = retry(attempts: 5, delay: 0.01, condition: { _, _ in false }) {
      Promise<Int>(self.someError)
    }
    settle()
    XCTAssertTrue(other.isRejected)
  }

  func test_timeout() {
    let log = Log()
    let slow = Promise<Int>()
    slow.timeout(0.02).then { _ in
      log.add("then")
    }.catch { error in
      log.add(PromiseError(error) == .timedOut ? "timed out" : "other")
    }
    spin(until: log.count == 1)
    slow.fulfill(1)
    settle()
    XCTAssertEqual(log.all, ["timed out"])
  }

  func test_validate() {
    let log = Log()
    Promise<String> { "" }.validate { token in
      !token.isEmpty
    }.then { token in
      log.add(token)
    }.catch { error in
      log.add("Failed to get auth token: \(error)")
    }
    settle()
    XCTAssertEqual(log.all, ["Failed to get auth token: validationFailure"])
  }

  func test_wrap() {
    func method(completion: @escaping (Data?, Error?) -> Void) {
      DispatchQueue.global().async { completion(Data("data".utf8), nil) }
    }
    let promise = wrap { (handler: @escaping (Data?, Error?) -> Void) in
      method(completion: handler)
    }
    let onlyError = wrap { (handler: @escaping (Error?) -> Void) in handler(nil) }
    let failed = wrap { (handler: @escaping (Error?, String) -> Void) in
      handler(self.someError, "value")
    }.recover { _ in "solution" }
    settle()
    XCTAssertEqual(promise.value, Data("data".utf8))
    XCTAssertTrue(onlyError.isFulfilled)
    XCTAssertEqual(failed.value, "solution")
  }

  // MARK: The default queue, and cycles

  func test_defaultQueue() {
    DispatchQueue.promises = .global()
    let promise = Promise(1).then { _ in !Thread.isMainThread }
    DispatchQueue.promises = .main
    settle()
    XCTAssertEqual(promise.value, true)
  }

  func test_cycleThroughAStoredPromise_isBrokenByResolving() {
    final class MyClass {
      var promise: Promise<Int>?

      func doSomething() -> Promise<String> {
        let promise = self.promise ?? .pending()
        self.promise = promise
        return promise.then { number in self.text(of: number) }
      }

      func text(of number: Int) -> String { "\(number)" }
    }
    weak var weakObject: MyClass?
    do {
      let object = MyClass()
      weakObject = object
      _ = object.doSomething()
    }
    XCTAssertNotNil(weakObject)
    weakObject?.promise?.fulfill(1)
    settle()
    XCTAssertNil(weakObject)
  }
}
