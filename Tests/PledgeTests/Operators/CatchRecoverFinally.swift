/// `catch`, `recover`, `replaceError`, `finally`, and `finallyThen`, at any time, on any executor.
@Suite struct CatchRecoverFinally {
  @Test(arguments: When.allCases, Place.all) func catchAll(when: When, place: Place) async throws {
    let seen = Recorder<String>()
    for promise in [when.reject(Boom(code: 3)) { $0 }, when.fulfill(1) { $0 }] {
      await promise.catch(on: place.executor) { error in
        if place.probe.isCurrent { seen.record("\(error)") }
      }.finally(on: place.executor) { seen.record("finally") }.value
    }
    try seen.expect(["\(Boom(code: 3))", "finally", "finally"])
  }

  @Test(arguments: When.allCases) func catchOnly(when: When) async throws {
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
    let passed = when.reject { $0.catch(only: OtherError.self) { _ in } }
    try await expectRejection(of: passed, with: Boom())
  }

  @Test(arguments: When.allCases, Place.all) func recover(when: When, place: Place) async throws {
    let on = place.executor
    for inner in When.allCases {
      let byPromise = when.reject { $0.recover(on: on) { _ in inner.fulfill(8) { $0 } } }
      try await expectFulfillment(of: byPromise, with: 8)
      let failing = when.reject { $0.recover(on: on) { _ in inner.reject(Boom(code: 9)) { $0 } } }
      try await expectRejection(of: failing, with: Boom(code: 9))
    }
    let threw = when.reject { $0.recover(on: on) { _ -> Promise<Int> in throw OtherError() } }
    try await expectRejection(of: threw, with: OtherError())
  }

  @Test(arguments: When.allCases) func recoveryThatCannotFail(when: When) async throws {
    let calls = CallCounter()
    #expect(await when.reject { $0.replaceError { _ in 6 + calls.call() } }.value == 7)
    #expect(await when.fulfill(1) { $0.replaceError { _ in calls.call() } }.value == 1)
    try calls.expectOnce()
    let byGuarantee = when.reject { $0.recover { _ in Guarantee<Int>.value(5) } }
    #expect(await byGuarantee.value == 5)
  }

  @Test(arguments: When.allCases) func replaceErrorWithAValue(when: When) async {
    #expect(await when.fulfill(1) { $0.replaceError(with: 7) }.value == 1)
    #expect(await when.reject { $0.replaceError(with: 7) }.value == 7)
  }

  @Test(arguments: When.allCases) func recoverOnly(when: When) async throws {
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
    let passed = when.reject { $0.recover(only: OtherError.self) { _ in Promise.value(1) } }
    try await expectRejection(of: passed, with: Boom())
  }

  @Test(arguments: When.allCases, Place.all) func finally(when: When, place: Place) async throws {
    let on = place.executor
    let calls = CallCounter()
    let body = { @Sendable in
      try place.probe.expectCurrent()
      calls.call()
    }
    try await expectFulfillment(of: when.fulfill(1) { $0.finally(on: on, body) }, with: 1)
    try await expectRejection(of: when.reject { $0.finally(on: on, body) }, with: Boom())
    try calls.expect(2)
    let threw = when.fulfill(1) { $0.finally(on: on) { throw OtherError() } }
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
    let failing = when.fulfill(1) { $0.finallyThen { Promise<Int>.rejected(OtherError()) } }
    try await expectRejection(of: failing, with: OtherError())
    try await expectRejection(of: when.reject { $0.finallyThen { Promise.value(1) } }, with: Boom())
  }
}
