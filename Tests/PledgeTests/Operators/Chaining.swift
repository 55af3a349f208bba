@_spi(DropIns) import Pledge

/// `then`, `map`, `compactMap`, `done`, `get`, `tap`, `validate`, `reduce`, on promises that settle
/// at any time, on any executor: values, errors and throws.
@Suite struct Chaining {
  private let calls = CallCounter()

  @Test(arguments: When.allCases, Place.all) func map(when: When, place: Place) async throws {
    let body = { @Sendable (value: Int) throws -> Int in
      calls.call()
      try place.probe.expectCurrent()
      if value == 0 { throw Boom(code: 7) }
      return value + 1
    }
    try await expectFulfillment(of: when.fulfill(20) { $0.map(on: place.executor, body) }, with: 21)
    let threw = when.fulfill(0) { $0.map(on: place.executor, body) }
    try await expectRejection(of: threw, with: Boom(code: 7))
    try calls.expect(2)
    try await expectRejection(of: when.reject { $0.map(on: place.executor, body) }, with: Boom())
    try calls.expect(2)
  }

  @Test(arguments: When.allCases, Place.all) func then(when: When, place: Place) async throws {
    let on = place.executor
    for inner in When.allCases {
      let chained = when.fulfill(20) { promise in
        promise.then(on: on) { value in
          try place.probe.expectCurrent()
          return inner.fulfill("\(value)") { $0 }
        }
      }
      try await expectFulfillment(of: chained, with: "20")
      let failed = when.fulfill(1) { $0.then(on: on) { _ in inner.reject(Boom(code: 2)) { $0 } } }
      try await expectRejection(of: failed, with: Boom(code: 2))
    }
    let rejected = when.reject { $0.then(on: on) { .value($0 + calls.call()) } }
    try await expectRejection(of: rejected, with: Boom())
    try calls.expectNever()
    let threw = when.fulfill(1) { $0.then(on: on) { _ -> Promise<Int> in throw Boom(code: 7) } }
    try await expectRejection(of: threw, with: Boom(code: 7))
  }

  @Test(arguments: When.allCases) func compactMap(when: When) async throws {
    try await expectFulfillment(of: when.fulfill("12") { $0.compactMap { Int($0) } }, with: 12)
    let missing = when.fulfill("x") { $0.compactMap { Int($0) } }
    try await expectRejection(of: missing, with: PromiseError.noValue)
    try await expectRejection(of: when.reject { $0.compactMap { $0 as Int? } }, with: Boom())
    let threw = when.fulfill(1) { $0.compactMap { _ -> Int? in throw Boom(code: 7) } }
    try await expectRejection(of: threw, with: Boom(code: 7))
  }

  @Test(arguments: When.allCases, Place.all)
  func doneAndGet(when: When, place: Place) async throws {
    let seen = Recorder<Int>()
    let done = when.fulfill(3) { promise in
      promise.get { seen.record($0) }.done(on: place.executor) {
        try place.probe.expectCurrent()
        seen.record($0 + 1)
      }
    }
    try await expectFulfillment(of: done)
    let threw = when.fulfill(1) { $0.get { _ in throw Boom(code: 7) } }
    try await expectRejection(of: threw, with: Boom(code: 7))
    try await expectRejection(of: when.reject { $0.get { seen.record($0) } }, with: Boom())
    try seen.expect([3, 4])
  }

  @Test(arguments: When.allCases, Place.all) func tap(when: When, place: Place) async throws {
    let seen = Recorder<String>()
    let value = when.fulfill(3) { $0.tap(on: place.executor) { seen.record("\($0)") } }
    try await expectFulfillment(of: value, with: 3)
    let error = when.reject { $0.tap(on: place.executor) { seen.record("\($0)") } }
    try await expectRejection(of: error, with: Boom())
    #expect(seen.events == ["success(3)", "\(Result<Int, any Error>.failure(Boom()))"])
  }

  @Test(arguments: When.allCases) func validate(when: When) async throws {
    try await expectFulfillment(of: when.fulfill(3) { $0.validate { $0 > 2 } }, with: 3)
    let invalid = when.fulfill(3) { $0.validate { $0 > 3 } }
    try await expectRejection(of: invalid, with: PromiseError.validationFailed)
    let threw = when.fulfill(3) { $0.validate { _ in throw Boom(code: 7) } }
    try await expectRejection(of: threw, with: Boom(code: 7))
    try await expectRejection(of: when.reject { $0.validate { _ in true } }, with: Boom())
  }

  @Test(arguments: When.allCases, Place.all) func reduce(when: When, place: Place) async throws {
    let on = place.executor
    for (numbers, expected) in [([1, 2, 3], "0123"), ([], "0")] {
      let text = when.fulfill("0") { $0.reduce(on: on, numbers) { .value("\($0)\($1)") } }
      try await expectFulfillment(of: text, with: expected)
    }
    // Elements are taken lazily.
    let taken = CallCounter()
    let stopped = when.fulfill(0) { promise in
      promise.reduce(on: on, Numbers(taken: taken)) { sum, n in
        if n == 4 { throw Boom(code: sum) }
        return .value(sum + n)
      }
    }
    try await expectRejection(of: stopped, with: Boom(code: 6))
    try taken.expect(4)
  }

  @Test(arguments: When.allCases, Place.all)
  func guarantees(when: When, place: Place) async throws {
    let on = place.executor
    let seen = Recorder<Int>()
    let (guarantee, resolver) = Guarantee<Int>.withResolvers()
    if when == .already { resolver.fulfill(1) }
    let result: Guarantee<Int> = guarantee.map(on: on) { $0 + 1 }
      .then(on: on) { n in Guarantee<Int>.value(n * 10) }
      .map(on: on) { n in
        seen.record(n)
        return n
      }.finally(on: on) { seen.record(0) }
    resolver.fulfill(1)
    #expect(await result.value == 20)
    await result.done(on: on) { seen.record($0 + 1) }.value
    try seen.expect([20, 0, 21])
    // A throwing handler makes the result a promise.
    let promise: Promise<Int> = guarantee.map(on: on) { n in
      if n == 1 { throw Boom() }
      return n
    }
    try await expectRejection(of: promise, with: Boom())
  }

  /// A thenable that calls its observer with each of `results`.
  private struct Foreign: Thenable {
    var results: [Result<Int, any Error>]
    func observe(_ handler: @escaping @Sendable (Result<Int, any Error>) -> Void) {
      for result in results { handler(result) }
    }
  }

  @Test func thenOfAnyThenable() async throws {
    let fulfilled = Foreign(results: [.success(1), .success(2), .failure(Boom())])
    try await expectFulfillment(of: Promise.value(0).then { _ in fulfilled }, with: 1)
    try await expectFulfillment(of: fulfilled.map { $0 + 1 }, with: 2)
    let rejected = Foreign(results: [.failure(Boom()), .success(1)])
    try await expectRejection(of: Promise.value(0).then { _ in rejected }, with: Boom())
    let silent = Foreign(results: [])
    try await expectRejection(
      of: Promise.value(0).then { _ in silent }, with: BrokenPromiseError.self)
    try await expectFulfillment(of: Promise.value(0).then { _ in Guarantee<Int>.value(3) }, with: 3)
  }
}

/// Operators on results and errors, handlers that are `async`, and operators of guarantees.
@Suite struct OperatorForms {
  @Test func mapResult() async throws {
    for (promise, result) in [(Promise.value(1), 2), (.rejected(Boom()), 7)] {
      try await expectFulfillment(of: promise.mapResult { (try? $0.get() + 1) ?? 7 }, with: result)
    }
  }

  @Test func mapError() async throws {
    let replaced = Promise<Int>.rejected(Boom()).mapError { _ in OtherError() }
    try await expectRejection(of: replaced, with: OtherError())
    try await expectFulfillment(of: Promise.value(1).mapError { _ in OtherError() }, with: 1)
  }

  @Test func asyncHandlers() async throws {
    let number = Promise.value(1).asyncMap { try await Promise.value($0 + 1).value }
    try await expectFulfillment(of: number, with: 2)
    let recovered = Promise<Int>.rejected(Boom()).asyncRecover { _ in try await number.value + 1 }
    try await expectFulfillment(of: recovered, with: 3)
    let calls = CallCounter()
    let cleaned = Promise<Int>.rejected(Boom()).asyncFinally {
      try await Promise.value(()).value
      calls.call()
    }
    try await expectRejection(of: cleaned, with: Boom())
    try calls.expectOnce()
    #expect(await Guarantee.value(1).asyncMap { $0 + 1 }.asyncFinally { calls.call() }.value == 2)
  }

  @Test func resolverMethods_areHandlers() async throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    Promise.value(4).done(resolver.fulfill).catch(resolver.reject)
    try await expectFulfillment(of: promise, with: 4)
  }

  @Test func guaranteeResolver_followsAnotherGuarantee() async throws {
    let (inner, innerResolver) = Guarantee<Int>.withResolvers()
    let (outer, resolver) = Guarantee<Int>.withResolvers()
    resolver.resolve(with: inner)
    #expect(resolver.isPending)
    innerResolver.fulfill(3)
    let seen = CallCounter()
    #expect(await outer.finally { _ = seen.call() }.value == 3)
    try seen.expectOnce()
    #expect(!resolver.isPending)
  }

  @Test func uncancellable_sparesTheGuarantee() async {
    let (guarantee, resolver) = Guarantee<Int>.withResolvers()
    let view = guarantee.uncancellable().map { $0 + 1 }.promise
    view.cancel()
    await #expect(throws: CancellationError.self) { try await view.value }
    #expect(resolver.fulfill(1))
    #expect(await guarantee.value == 1)
  }

  @Test func scope_ofAGuarantee() async throws {
    final class Owner: Sendable { let seen = Recorder<Int>() }
    let (guarantee, resolver) = Guarantee<Int>.withResolvers()
    var scope: PromiseScope? = PromiseScope()
    let owner = Owner()
    let bound = try #require(scope.map { guarantee.bound(to: $0) })
    let handled = Guarantee.value(5).done(weak: owner) { owner, value in owner.seen.record(value) }
    try await handled.value
    try owner.seen.expect([5])
    scope = nil
    try await expectCancellation(of: bound)
    #expect(!resolver.isPending)
  }
}
