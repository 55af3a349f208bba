@_spi(DropIns) import Pledge

/// Very long chains and loops run in constant stack, and loops in constant memory.
///
/// `PLEDGE_FULL=1` in the environment runs them at full size.
@Suite(.serialized) struct Depth {
  let links = isFullRun ? 1_000_000 : 20_000
  let rounds = isFullRun ? 10_000_000 : 100_000

  enum Link: CaseIterable {
    case map, then, recover, tap, finally, uncancellable, resolveWith, adoption
    case race, any, all, variadicAll, allSettled
  }

  private func extend(_ promise: Promise<Int>, by link: Link) -> Promise<Int> {
    switch link {
    case .map: promise.map(on: .immediate) { $0 + 1 }
    case .then: promise.then(on: .immediate) { .value($0 + 1) }
    case .recover: promise.recover(on: .immediate) { error throws -> Promise<Int> in throw error }
    case .tap: promise.tap(on: .immediate) { _ in }
    case .finally: promise.finally(on: .immediate) {}
    case .uncancellable: promise.uncancellable()
    case .resolveWith: Promise { $0.resolve(with: promise) }
    case .adoption: Promise.value(1).then(on: .immediate) { _ in promise }
    case .race: .race([promise])
    case .any: .any([promise])
    case .all: Promise<[Int]>.all([promise]).map(on: .immediate) { $0[0] }
    case .variadicAll: Promise<(Int, Int)>.all(promise, .value(1)).map(on: .immediate) { $0.0 }
    case .allSettled:
      Promise<[Result<Int, any Error>]>.allSettled([promise])
        .map(on: .immediate) { try $0[0].get() }
    }
  }

  /// Returns a promise at the end of a long chain.
  private func chain(from promise: Promise<Int>, by link: Link) -> Promise<Int> {
    // Each combinator is several links.
    let isCombinator = [.race, .any, .all, .variadicAll, .allSettled, .resolveWith].contains(link)
    return (0..<(isCombinator ? links / 4 : links)).reduce(promise) { last, _ in
      extend(last, by: link)
    }
  }

  @Test(arguments: Link.allCases) func chain_settlesAndIsReleased(link: Link) async {
    await outsideTasks {
      for outcome in [Result<Int, any Error>.success(0), .failure(Boom())] {
        let (promise, resolver) = Promise<Int>.withResolvers()
        let last = chain(from: promise, by: link)
        resolver.resolve(outcome)
        #expect(!last.isPending)
        last.ignoreErrors()
      }
    }
  }

  @Test(arguments: Link.allCases) func chain_isCancelledAndReleased(link: Link) async {
    await outsideTasks {
      let last = chain(from: .never, by: link)
      last.cancel()
      #expect(last.isCancelled)
    }
  }

  @Test(arguments: Link.allCases, [false, true])
  func chain_isDropped(link: Link, isAbandoned: Bool) async throws {
    let lifetimes = LifetimeTracker()
    await outsideTasks {
      let (promise, resolver) = Promise<Int>.withResolvers()
      chain(from: promise, by: link)
        .done(on: .immediate) { [token = lifetimes.track("end")] _ in _ = token }.ignoreErrors()
      if isAbandoned { resolver.abandon() }
      withExtendedLifetime(resolver) {}
    }
    try await lifetimes.expectNoneAlive()
  }

  @Test func executorThatDropsItsJobs_breaksLongChainsInConstantStack() async {
    DiagnosticsLog.install()
    await outsideTasks {
      let (start, resolver) = Promise<Int>.withResolvers()
      var last = start
      for _ in 0..<links { last = last.finally(on: ClosureExecutor { _ in }) {} }
      resolver.fulfill(1)
      #expect(throws: BrokenPromiseError.self) { try last.currentResult?.get() }
      last.ignoreErrors()
    }
  }

  @Test func executorThatRunsJobsInEnqueue_runsLongChainsInConstantStack() async {
    await outsideTasks {
      let (start, resolver) = Promise<Int>.withResolvers()
      var last = start
      for _ in 0..<links { last = last.map(on: ClosureExecutor { $0.run() }) { $0 + 1 } }
      resolver.fulfill(0)
      #expect(last.state == "fulfilled: \(links)")
    }
  }

  @Test func allLinksKept_areReleased() async {
    await outsideTasks { [links] in
      let (promise, resolver) = Promise<Int>.withResolvers()
      var all = [promise]
      for index in 0..<links { all.append(all[index].map(on: .immediate) { $0 + 1 }) }
      resolver.fulfill(0)
      #expect(all.last?.state == "fulfilled: \(links)")
    }
  }

  /// In a process of its own, because other tests allocate memory at the same time.
  @Test func loop_runsInFlatMemory() async {
    await #expect(processExitsWith: .success) {
      for kind in ["immediate", "serial queue", "global", "asynchronous settlement"] {
        try await Depth().checkLoop(kind: kind)
      }
    }
  }

  private func checkLoop(kind: String) async throws {
    let queue = DispatchQueue(label: "loop")
    let (rounds, report) = (rounds, Recorder<Int>())
    @Sendable func sample(_ n: Int) {
      if n % (rounds / 4) == 0, let memory = residentMemory() { report.record(memory) }
    }
    @Sendable func step(_ n: Int) -> Promise<Int> {
      sample(n)
      if n == 0 { return .value(42) }
      switch kind {
      case "immediate": return Promise.value(n).then(on: .immediate) { step($0 - 1) }
      case "serial queue": return Promise.value(n).then(on: queue) { step($0 - 1) }
      case "global": return Promise.value(n).then(on: .global) { step($0 - 1) }
      default:
        let (promise, resolver) = Promise<Int>.withResolvers()
        let next = promise.then(on: .immediate) { step($0 - 1) }
        queue.async { resolver.fulfill(n) }
        return next
      }
    }
    try await expectFulfillment(of: step(rounds), with: 42, within: .seconds(600))
    let megabytes = report.events.map { $0 >> 20 }
    print("loop, \(kind), \(rounds) rounds: \(megabytes) MB resident at each quarter")
    if let start = megabytes.dropFirst().first, let end = megabytes.last {
      // A loop that leaks takes 500 bytes or more for each round; these are three quarters of them.
      #expect(end - start < min(60, rounds * 200 / 1_048_576))
    }
  }

  @Test func handlersInPlaceOnSettledPromises_nestInConstantStack() throws {
    let rounds = rounds
    let count = CallCounter()
    @Sendable func step(_ n: Int) {
      count.call()
      if n > 0 { Promise.value(n).done(on: .immediate) { step($0 - 1) }.ignoreErrors() }
    }
    step(rounds)
    #expect(count.count == rounds + 1)
    let observed = CallCounter()
    @Sendable func observe(_ n: Int) {
      observed.call()
      if n > 0 { Promise.value(n).observe(on: .immediate) { _ in observe(n - 1) } }
    }
    observe(rounds)
    #expect(observed.count == rounds + 1)
  }

  @Test func loop_isCancelledInTheMiddle() async throws {
    let (stop, count) = (Box<Promise<Int>?>(nil), CallCounter())
    @Sendable func step() -> Promise<Int> {
      Promise.value(1).then { _ in
        if count.call() == 10_000 { stop.value?.cancel() }
        return step()
      }
    }
    let (start, resolver) = Promise<Void>.withResolvers()
    let loop = start.then { step() }
    stop.value = loop
    resolver.fulfill()
    try await expectCancellation(of: loop, within: .seconds(60))
    stop.value = nil
  }
}
