/// Reference cycles through a promise are broken when it settles, is cancelled, or is dropped.
@Suite struct Cycles {
  let lifetimes = LifetimeTracker()

  @Test(arguments: End.allCases)
  func handlersThatHoldTheirOwnPromise_areReleased(end: End) async throws {
    do {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let own = Box<[Promise<Int>]>([])
      let l = lifetimes
      let derived = [
        promise.map(on: .immediate) { [t = l.track("map")] in $0 + t.label.count + own.value.count
        },
        promise.then(on: .immediate) { [t = l.track("then")] in
          .value($0 + t.label.count + own.value.count)
        },
        promise.replaceError { [t = l.track("recover")] _ in
          t.label.count + own.value.count
        }.promise,
        promise.finally(on: .immediate) { [t = l.track("finally")] in _ = (t, own.value) },
      ]
      own.value = derived
      for promise in derived { promise.ignoreErrors() }
      end.bring(about: promise, resolver)
    }
    try await lifetimes.expectNoneAlive()
  }

  @Test func twoThatFollowEachOther_areReleasedOnceCancelled() async throws {
    do {
      let (first, firstResolver) = Promise<Int>.withResolvers()
      let (second, secondResolver) = Promise<Int>.withResolvers()
      first.finally(on: .immediate) { [t = lifetimes.track("first")] in _ = t }.ignoreErrors()
      second.finally(on: .immediate) { [t = lifetimes.track("second")] in _ = t }.ignoreErrors()
      firstResolver.resolve(with: second)
      secondResolver.resolve(with: first)
      first.cancel()
    }
    try await lifetimes.expectNoneAlive()
  }
}
