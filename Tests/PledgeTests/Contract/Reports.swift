@_spi(DropIns) import Pledge

/// Contract, line 9: an error is reported once if nothing has handled it, and otherwise never.
@Suite struct Reports {
  /// Code that leaves an error, and has released all its promises when it returns.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let count: Int
    let run: @Sendable (Boom) async throws -> Void

    init(_ name: String, _ count: Int, _ run: @escaping @Sendable (Boom) async throws -> Void) {
      (testDescription, self.count, self.run) = (name, count, run)
    }
  }

  // Each case has an error of its own, because all tests have one log.
  @Test(arguments: zip(unhandled + handled + sharedErrors, 9_100..<9_200))
  func line9_error_isReportedIfNothingHandledIt(_ example: Case, code: Int) async throws {
    DiagnosticsLog.install()
    try await example.run(Boom(code: code))
    #expect(DiagnosticsLog.reports(of: Boom(code: code)).count == example.count)
  }
}

private let unhandled: [Reports.Case] = [
  .init("a throw in a handler", 1) { error in
    _ = Promise.value(1).map(on: .immediate) { _ -> Int in throw error }
  },
  .init("looking at it isn't handling it", 1) { error in
    let promise = Promise<Int>.rejected(error)
    #expect(promise.currentResult != nil)
    _ = promise.tap(on: .immediate) { _ in }
    _ = promise.finally(on: .immediate) {}
  },
  .init("watched before the rejection", 1) { error in
    let (promise, resolver) = Promise<Int>.withResolvers()
    promise.watch(on: .immediate) { _ in }
    resolver.reject(error)
  },
  .init("watched after the rejection", 1) { error in
    Promise<Int>.rejected(error).watch(on: .immediate) { _ in }
  },
  .init("of a rejected promise, though a late consumer cancelled", 1) { error in
    let executor = ManualExecutor()
    do {
      let promise = Promise<Int>.rejected(error)
      _ = promise.map(on: .immediate) { $0 }
      promise.recover(on: executor) { _ in Promise.value(1) }.cancel()
    }
    executor.runAll()
  },
  .init("of a rejected promise, though a cancelled handler returned it", 1) { error in
    let promise = Promise<Int>.rejected(error)
    _ = promise.map(on: .immediate) { $0 }
    let (start, resolver) = Promise<Int>.withResolvers()
    let outer = Box<Promise<Int>?>(nil)
    outer.value = start.then(on: .immediate) { _ in
      outer.value?.cancel()
      return promise
    }
    resolver.fulfill(1)
    outer.value = nil
  },
  .init("of a shared promise, though a follower was cancelled", 1) { error in
    let (promise, resolver) = Promise<Int>.withResolvers()
    let (following, follower) = Promise<Int>.withResolvers()
    // Rejects the promise when the follower is cancelled, before its observer is removed.
    follower.onCancel { resolver.reject(error) }
    follower.resolve(with: promise)
    _ = promise.map(on: .immediate) { $0 }
    following.cancel()
  },
]

private let handled: [Reports.Case] = [
  .init("handlers and awaits that receive it", 0) { error in
    Promise<Int>.rejected(error).catch(on: .immediate) { _ in }
    _ = Promise<Int>.rejected(error).recover(on: .immediate) { _ in .value(1) }
    Promise<Int>.rejected(error).ignoreErrors()
    _ = try? await Promise<Int>.rejected(error).value
    _ = await Promise<Int>.rejected(error).result
    Promise<Int>.rejected(error).observe(on: .immediate) { _ in }
    _ = Promise.allSettled([Promise<Int>.rejected(error)])
    _ = try? await Promise.any([Promise<Int>.rejected(error), .value(1)]).value
  },
  .init("too late for its promise", 0) { error in
    let (_, resolver) = Promise<Int>.withResolvers()
    resolver.fulfill(1)
    #expect(!resolver.reject(error))
  },
  .init("late losers of a race", 0) { error in
    for keep in [true, false] {
      let (loser, resolver) = Promise<Int>.withResolvers()
      // Kept pending by another consumer, or at the caller's request.
      let other = keep ? loser.map(on: .immediate) { $0 } : nil
      _ = Promise.race([.value(1), loser], cancellingLosers: keep)
      other?.catch(on: .immediate) { _ in }
      resolver.reject(error)
    }
  },
  .init("losers of a race that have settled", 0) { error in
    Promise<Int>.race([.rejected(Boom()), .rejected(error)]).ignoreErrors()
  },
  .init("later rejections in all", 0) { error in
    let (a, b) = (Promise<Int>.withResolvers(), Promise<Int>.withResolvers())
    let all = Promise.all([a.promise, b.promise])
    a.resolver.reject(Boom())
    b.resolver.reject(error)
    try await expectRejection(of: all, with: Boom())
  },
  .init("for a cancelled consumer alone", 0) { error in
    let executor = ManualExecutor()
    Promise<Int>.rejected(error).recover(on: executor) { _ in Promise.value(1) }.cancel()
    executor.runAll()
  },
  // The consumer that was removed was the only one that could receive the error.
  .init("after the only consumer left, though watched", 0) { error in
    let (promise, resolver) = Promise<Int>.withResolvers()
    promise.watch(on: .immediate) { _ in }
    promise.uncancellable().cancel()
    resolver.reject(error)
  },
  .init("of a cancelled promise, in a combinator that came late", 0) { error in
    let (promise, resolver) = Promise<Int>.withResolvers()
    resolver.onCancel {
      _ = Promise.race([promise.map(on: .immediate) { $0 }])
      resolver.reject(error)
    }
    promise.cancel()
  },
  .init("after the first one in a bounded all", 0) { error in
    for cancelsRest in [false, true] {
      let pairs = (0..<3).map { _ in Promise<Int>.withResolvers() }
      Promise.all(on: .immediate, 0..<3, concurrently: 3, cancellingRest: cancelsRest) {
        pairs[$0].promise
      }.ignoreErrors()
      for pair in pairs { pair.resolver.reject(error) }
    }
  },
  // The loop takes another element, whose closure throws, while the first error is delivered.
  .init("of a closure of a bounded all, after the first", 0) { error in
    let (first, resolver) = Promise<Int>.withResolvers()
    Promise.all(on: .immediate, 0..<2, concurrently: 2) { index in
      if index == 0 { return first }
      resolver.reject(error)
      throw error
    }.ignoreErrors()
  },
  // The operation settles after the cancellation, and before `transform` returns it.
  .init("of an operation that fails while a bounded all is cancelled", 0) { error in
    let result = Box<Promise<[Int]>?>(nil)
    let (first, open) = Promise<Int>.withResolvers()
    let all = Promise.all(on: .immediate, 0..<9, concurrently: 1) { number in
      if number == 0 { return first }
      result.value?.cancel()
      return Promise<Int>.rejected(error)
    }
    result.value = all
    open.fulfill(1)
    try await expectCancellation(of: all)
    result.value = nil
  },
  // The attempt fails after the cancellation, and before it is returned.
  .init("of an attempt that fails while hedged is cancelled", 0) { error in
    let (clock, result, calls) = (TestClock(), Box<Promise<Int>?>(nil), CallCounter())
    let hedged = Promise<Int>.hedged(on: .immediate, delay: .seconds(1), clock: clock) {
      if calls.call() == 1 { return .never }
      result.value?.cancel()
      return .rejected(error)
    }
    result.value = hedged
    await clock.advance(by: .seconds(1))
    try await expectCancellation(of: hedged)
    result.value = nil
    try calls.expect(2)
  },
  .init("of a cleanup that is waited for", 0) { error in
    let scope = PromiseScope()
    let (gate, open) = Promise<Void>.withResolvers()
    let bound = Promise.value(1).finallyThen { gate }.bound(to: scope)
    let end = scope.close()
    #expect(end.promise.isPending)
    open.reject(error)
    await end.value
    bound.ignoreErrors()
  },
]

private let sharedErrors: [Reports.Case] = [true, false].flatMap { isSettledFirst in
  shared(isSettledFirst, isHandled: true) + shared(isSettledFirst, isHandled: false)
}

/// Inputs of a combinator that were rejected with the error of a promise that they share.
private func shared(_ isSettledFirst: Bool, isHandled: Bool) -> [Reports.Case] {
  let name = "settled \(isSettledFirst ? "first" : "later")\(isHandled ? ", handled" : "")"
  @Sendable func share(_ error: Boom, _ combine: ([Promise<Int>]) -> Promise<Void>) {
    let (promise, resolver) = Promise<Int>.withResolvers()
    if isSettledFirst { resolver.reject(error) }
    let result = combine((0..<2).map { _ in promise.map(on: .immediate) { $0 } })
    if isHandled { result.catch(on: .immediate) { _ in } }
    if !isSettledFirst { resolver.reject(error) }
  }
  return [
    .init("shared by inputs of all, \(name)", isHandled ? 0 : 1) { error in
      share(error) { Promise.all($0).asVoid() }
    },
    .init("shared by inputs of race, \(name)", isHandled ? 0 : 1) { error in
      share(error) { Promise.race($0).asVoid() }
    },
  ]
}
