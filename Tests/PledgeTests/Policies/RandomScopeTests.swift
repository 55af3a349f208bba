@_spi(DropIns) import Pledge

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

extension StubbornWork {
  fileprivate func promise() -> Promise<Int> {
    Promise {
      await run()
      return 1
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
        return 2
      }
    case .usingPromise:
      return .using(Promise.value(1), release: { _ in }) { [work] _ in
        work.promise().finallyThen { work.promise() }
      }
    default: return append(link, to: chain(depth - 1), depth)
    }
  }

  private mutating func source() -> Promise<Int> {
    switch Int.random(in: 0..<3, using: &random) {
    case 0:
      text += " task"
      return work.promise()
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
    case .asyncFinally: return first.asyncFinally { [work] in await work.run() }
    case .finallyThen: return first.finallyThen { [work] in work.promise() }
    case .finallyThenOnMain: return first.finallyThen { @MainActor [work] in work.promise() }
    case .finally: return first.finally {}
    case .asyncMap:
      return first.asyncMap { [work] value in
        await work.run()
        return value
      }
    case .asyncRecover:
      return first.asyncRecover { [work] _ in
        await work.run()
        return 2
      }
    case .then: return first.then { [work] _ in work.promise() }
    case .map, .using, .usingPromise: return first.map { $0 }
    case .replaceError: return first.replaceError { _ in 3 }.promise
    case .mapError: return first.mapError { _ in Boom() }
    case .all: return Promise.all([first, chain(depth - 1)]).map { $0[0] }
    case .bounded: return Promise.all(on: .immediate, [first], concurrently: 1) { $0 }.map { $0[0] }
    case .nested: return Promise.value(0).then(on: .immediate) { _ in first }
    case .resolve:
      let (promise, resolver) = Promise<Int>.withResolvers()
      resolver.resolve(with: first)
      return promise
    case .onCancel:
      let (promise, resolver) = Promise<Int>.withResolvers()
      resolver.onCancel { withExtendedLifetime(resolver) { first.cancel() } }
      return promise
    }
  }
}
