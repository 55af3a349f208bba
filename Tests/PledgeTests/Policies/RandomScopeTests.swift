/// Random chains of tasks and cleanups that ignore cancellation: when a scope has ended, none runs.
@Suite struct RandomScopes {
  @Test(arguments: [1, 2, 3, 4]) func nothingRuns_whenTheScopeHasEnded(seed: UInt64) async {
    var random = SeededRandom(seed: seed)
    for round in 0..<500 {
      let work = StubbornWork()
      var chains = RandomChains(work: work, random: random)
      let scope = PromiseScope()
      let bound = chains.chain(.random(in: 1...4, using: &random)).bound(to: scope)
      random = chains.random
      bound.ignoreErrors()
      for _ in 0..<Int.random(in: 0..<4, using: &random) { await Task.yield() }
      let end = Bool.random(using: &random) ? scope.close() : bound.cancelAndFinish()
      for _ in 0..<Int.random(in: 0..<6, using: &random) { await Task.yield() }
      work.open()
      await end.value
      #expect(work.running == 0, "Round \(round):\(chains.text)")
    }
  }
}

private struct RandomChains {
  enum Link: CaseIterable {
    case using, usingPromise
    case asyncFinally, finallyThen, finallyThenOnMain, finally
    case asyncMap, asyncRecover, then, map, replaceError, mapError
    case all, bounded, nested, resolve, onCancel
  }

  let work: StubbornWork
  var random: SeededRandom
  /// A description of the chain.
  var text = ""

  mutating func chain(_ depth: Int) -> Promise<Int> {
    let link = Link.allCases.randomElement(using: &random)
    guard depth > 0, let link else { return source() }
    text += " \(link)"
    switch link {
    case .using:
      return .using(acquire: { 1 }, release: { [work] _ in await work.run() }) { [work] _ in
        await work.run()
      }
    case .usingPromise:
      return .using(Promise.value(1), release: { _ in }) { [work] _ in
        Promise { await work.run() }.finallyThen { Promise { await work.run() } }
      }
    default: return append(link, to: chain(depth - 1), depth)
    }
  }

  private mutating func source() -> Promise<Int> {
    switch Int.random(in: 0..<3, using: &random) {
    case 0:
      text += " task"
      return Promise { [work] in await work.run() }
    case 1:
      text += " never"
      return .never
    default:
      text += " value"
      return .value(1)
    }
  }

  private mutating func append(_ link: Link, to first: Promise<Int>, _ depth: Int) -> Promise<Int> {
    switch link {
    case .asyncFinally: first.asyncFinally { [work] in await work.run() }
    case .finallyThen: first.finallyThen { [work] in Promise { await work.run() } }
    case .finallyThenOnMain: first.finallyThen { @MainActor [work] in Promise { await work.run() } }
    case .finally: first.finally {}
    case .asyncMap: first.asyncMap { [work] _ in await work.run() }
    case .asyncRecover: first.asyncRecover { [work] _ in await work.run() }
    case .then: first.then { [work] _ in Promise { await work.run() } }
    case .map, .using, .usingPromise: first.map { $0 }
    case .replaceError: first.replaceError { _ in 3 }.promise
    case .mapError: first.mapError { _ in Boom() }
    case .all: Promise.all([first, chain(depth - 1)]).map { $0[0] }
    case .bounded: Promise.all(on: .immediate, [first], concurrently: 1) { $0 }.map { $0[0] }
    case .nested: Promise.value(0).then(on: .immediate) { _ in first }
    case .resolve: Promise { $0.resolve(with: first) }
    case .onCancel:
      Promise { resolver in
        resolver.onCancel { withExtendedLifetime(resolver) { first.cancel() } }
      }
    }
  }
}
