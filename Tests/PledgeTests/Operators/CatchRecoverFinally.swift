import Dispatch
import Pledge
import PledgeTesting
import Testing

/// `catch`, `recover`, `replaceError`, `finally`, `finallyThen`, on promises that settle at any time, on any executor.
@Suite struct CatchRecoverFinally {
  @Test(arguments: When.allCases, Place.all) func catchAll(when: When, place: Place) async throws {
    let on = place.executor, probe = place.probe
    let seen = Recorder<String>()
    let caught = when.reject(Boom(code: 3)) { promise in
      promise.catch(on: on) { error in
        if probe.isCurrent { seen.record("\(error)") }
      }.finally(on: on) { seen.record("finally") }
    }
    await caught.value
    try seen.expect(["\(Boom(code: 3))", "finally"])
    let quiet = when.fulfill(1) { promise in promise.catch(on: on) { _ in seen.record("never") } }
    await quiet.value
    #expect(seen.count == 2)
  }

  @Test(arguments: When.allCases)
  func catchOnly(when: When) async throws {
    let seen = Recorder<Int>()
    let byType = when.reject(Boom(code: 3)) { promise in
      promise.catch(only: OtherError.self) { _ in seen.record(-1) }
        .catch(only: Boom.self) { seen.record($0.code) }
    }
    try await expectFulfillment(of: byType)
    let byValue = when.reject(Boom(code: 3)) { promise in
      promise.catch(only: Boom(code: 2)) { seen.record(-2) }
        .catch(only: Boom(code: 3)) { seen.record(33) }
    }
    try await expectFulfillment(of: byValue)
    try seen.expect([3, 33])
    let passed = when.reject(Boom(code: 3)) { promise in
      promise.catch(only: OtherError.self) { _ in }
    }
    try await expectRejection(of: passed, with: Boom(code: 3))
  }

  @Test(arguments: When.allCases, Place.all) func recover(when: When, place: Place) async throws {
    let on = place.executor
    let byValue: Guarantee<Int> = when.reject { promise in promise.replaceError { _ in 7 } }
    #expect(await byValue.value == 7)
    for inner in When.allCases {
      let byPromise = when.reject { promise in
        promise.recover(on: on) { _ in inner.fulfill(8) { $0 } }
      }
      try await expectFulfillment(of: byPromise, with: 8)
      let failing = when.reject { promise in
        promise.recover(on: on) { _ in inner.reject(Boom(code: 9)) { $0 } }
      }
      try await expectRejection(of: failing, with: Boom(code: 9))
    }
    let threw: Promise<Int> = when.reject { promise in
      promise.recover(on: on) { error throws -> Promise<Int> in throw OtherError() }
    }
    try await expectRejection(of: threw, with: OtherError())
    let calls = CallCounter()
    let passed: Guarantee<Int> = when.fulfill(1) { promise in
      promise.replaceError { _ in
        calls.call()
        return 2
      }
    }
    #expect(await passed.value == 1)
    try calls.expectNever()
    let byGuarantee: Guarantee<Int> = when.reject { promise in
      promise.recover { _ in Guarantee<Int>.value(5) }
    }
    #expect(await byGuarantee.value == 5)
  }

  @Test(arguments: When.allCases) func replaceErrorWithAValue(when: When) async {
    #expect(await when.fulfill(1) { $0.replaceError(with: 7) }.value == 1)
    #expect(await when.reject { $0.replaceError(with: 7) }.value == 7)
  }

  @Test(arguments: When.allCases)
  func recoverOnly(when: When) async throws {
    let byType = when.reject(Boom(code: 3)) { promise in
      promise.replaceError(only: OtherError.self) { _ in -1 }
        .replaceError(only: Boom.self) { $0.code }
    }
    try await expectFulfillment(of: byType, with: 3)
    let byValue = when.reject(Boom(code: 3)) { promise in
      promise.recover(only: Boom(code: 2)) { .value(-1) }
        .recover(only: Boom(code: 3)) { Promise.value(33) }
    }
    try await expectFulfillment(of: byValue, with: 33)
    let passed = when.reject(Boom(code: 3)) { promise in
      promise.recover(only: OtherError.self) { _ in Promise.value(1) }
    }
    try await expectRejection(of: passed, with: Boom(code: 3))
  }

  @Test(arguments: When.allCases, Place.all) func finally(when: When, place: Place) async throws {
    let on = place.executor, probe = place.probe
    let calls = CallCounter()
    let value = when.fulfill(1) { promise in
      promise.finally(on: on) {
        try probe.expectCurrent()
        calls.call()
      }
    }
    try await expectFulfillment(of: value, with: 1)
    let error = when.reject { promise in promise.finally(on: on) { _ = calls.call() } }
    try await expectRejection(of: error, with: Boom())
    try calls.expect(2)
    let threw = when.fulfill(1) { promise in promise.finally(on: on) { throw OtherError() } }
    try await expectRejection(of: threw, with: OtherError())
  }

  @Test(arguments: When.allCases) func finallyThen_waitsForThePromise(when: When) async throws {
    let gate = Promise<Void>.withResolvers()
    let (told, tell) = Promise<Void>.withResolvers()
    let value = when.fulfill(1) { promise in
      promise.finallyThen {
        tell.fulfill()
        return gate.promise
      }
    }
    try await expectFulfillment(of: told)
    try expectPending(value)
    gate.resolver.fulfill()
    try await expectFulfillment(of: value, with: 1)
    // Also for a guarantee that is the closure's only expression.
    let (closing, close) = Guarantee<Void>.withResolvers()
    let short = Promise.value(2).finallyThen { closing }
    try expectPending(short)
    close.fulfill()
    try await expectFulfillment(of: short, with: 2)
    let failing = when.fulfill(1) { promise in
      promise.finallyThen { Promise<Int>.rejected(OtherError()) }
    }
    try await expectRejection(of: failing, with: OtherError())
    let failed = when.reject { promise in promise.finallyThen { Promise.value(1) } }
    try await expectRejection(of: failed, with: Boom())
  }
}
