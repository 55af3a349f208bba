/// `all`, `allSettled`, `any`, and `race`, on promises that settle at any time, in any order.
@Suite struct CombinatorTests {
  @Test(arguments: When.allCases) func all(when: When) async throws {
    let values = Promise.all((0..<50).map { when.fulfill($0) { $0 } })
    try await expectFulfillment(of: values, with: Array(0..<50))
    let failed = Promise.all([.value(1), when.reject { $0 }, .value(3)])
    try await expectRejection(of: failed, with: Boom())
  }

  @Test func all_orderOfValuesIsThatOfThePromises() async throws {
    let parts = (0..<3).map { _ in Promise<Int>.withResolvers() }
    let all = Promise.all(parts.map(\.promise))
    for index in [2, 0, 1] {
      try expectPending(all)
      parts[index].resolver.fulfill(index * 10)
    }
    try await expectFulfillment(of: all, with: [0, 10, 20])
  }

  @Test func all_ofSeveralTypes() async throws {
    let (a, b, c) = try await Promise.all(
      Promise.value(1), Promise.value("b"), When.later.fulfill(2.5) { $0 }
    ).value
    #expect(a == 1 && b == "b" && c == 2.5)
    let failing = Promise.all(Promise.value(1), Promise<String>.rejected(Boom()))
    try await expectRejection(of: failing.asVoid(), with: Boom())
    let one = Promise.value(1)
    let six = Promise.all(one, one, one, one, one, one)
    try await expectFulfillment(of: six.map { [$0, $1, $2, $3, $4, $5].reduce(0, +) }, with: 6)
  }

  @Test(arguments: When.allCases) func allSettled(when: When) async throws {
    let results = try await Promise.allSettled([
      when.fulfill(1) { $0 }, when.reject { $0 }, .value(3),
    ]).value
    let failure = Result<Int, any Error>.failure(Boom())
    #expect(results.map { "\($0)" } == ["success(1)", "\(failure)", "success(3)"])
  }

  @Test(arguments: When.allCases) func any(when: When) async throws {
    let first = Promise.any([when.reject { $0 }, when.fulfill(2) { $0 }])
    try await expectFulfillment(of: first, with: 2)
    let none = Promise<Int>.any((0..<3).map { n in when.reject(Boom(code: n)) { $0 } })
    let error = try await expectRejection(of: none, with: AggregateError.self)
    #expect(error.errors.map { ($0 as? Boom)?.code } == [0, 1, 2])
    #expect(error.description.contains("All 3 promises"))
  }

  @Test(arguments: When.allCases)
  func any_ofCancelledPromises_isCancelled(when: When) async throws {
    func any(_ errors: any Error...) -> Promise<Int> {
      Promise.any(errors.map { when.reject($0) { $0 } })
    }
    try await expectCancellation(of: any(CancellationError(), CancellationError()))
    let some = any(CancellationError(), Boom())
    #expect(try await expectRejection(of: some, with: AggregateError.self).errors.count == 2)
  }

  @Test(arguments: [0, 1]) func race_theFirstToSettleWins(winner: Int) async throws {
    for outcome in [Result<Int, any Error>.success(winner), .failure(Boom(code: winner))] {
      let parts = (0..<2).map { _ in Promise<Int>.withResolvers() }
      let race = Promise.race(parts.map(\.promise))
      parts[winner].resolver.resolve(outcome)
      parts[1 - winner].resolver.fulfill(9)
      #expect("\(await race.result)" == "\(outcome)")
    }
  }

  @Test func race_amongSettledOnes_theFirstInOrderWins() async throws {
    try await expectFulfillment(of: Promise.race(.value(1), .value(2)), with: 1)
    try await expectRejection(of: Promise.race(.rejected(Boom()), .value(2)), with: Boom())
    try await expectFulfillment(of: Promise.any(.rejected(Boom()), .value(2), .value(3)), with: 2)
  }

  @Test func race_withASettledOneInTheMiddle_releasesTheRest_newestFirst() throws {
    let (shared, executor) = (Promise<Int>.never, ManualExecutor())
    // Only the last consumer to be removed waits for the cleanup.
    let waiting = shared.finally(on: executor) {}
    let first = waiting.then(on: .immediate) { .value($0) }
    let last = waiting.then(on: .immediate) { .value($0) }
    let race = Promise.race([first, .value(3), last])
    #expect(first.isPending && !last.isPending)
    #expect(try race.currentResult?.get() == 3)
    executor.runAll()
    #expect(!first.isPending)
  }

  @Test func emptyInputs() async throws {
    try await expectFulfillment(of: Promise.all([Promise<Int>]()), with: [])
    let bounded = Promise.all([Int](), concurrently: 2) { Promise.value($0) }
    try await expectFulfillment(of: bounded, with: [])
    #expect(try await Promise.allSettled([Promise<Int>]()).value.isEmpty)
    try await expectRejection(of: Promise<Int>.race([]), with: PromiseError.emptyInput)
    try await expectRejection(of: Promise<Int>.any([]), with: PromiseError.emptyInput)
  }

  @Test func guarantees() async throws {
    let (a, b) = (Guarantee.value(1), Guarantee.value("b"))
    #expect(await Guarantee.all([a, a]).value == [1, 1])
    let both = try await Promise.all(a, b).value
    #expect(both == (1, "b"))
    try await expectFulfillment(of: Promise.all([a, a]), with: [1, 1])
    let clock = TestClock()
    let late = Guarantee<Int>.never.deadline(clock.now, clock: clock)
    try await expectRejection(of: late, with: TimeoutError.self)
  }

  @Test func dictionaries() async throws {
    let all = Promise.all(["a": Promise.value(1), "b": Promise.value(2)])
    try await expectFulfillment(of: all, with: ["a": 1, "b": 2])
    let failed = Promise.all(["a": Promise.value(1), "b": .rejected(Boom())])
    try await expectRejection(of: failed, with: Boom())
  }

  @Test func outcomesOfSeveralTypes() async throws {
    let (number, text) = try await Promise.allSettled(
      Promise.value(1), Promise<String>.rejected(Boom())
    ).value
    #expect(try number.get() == 1)
    #expect(throws: Boom()) { try text.get() }
  }
}
