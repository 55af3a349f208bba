import Dispatch
import Pledge
import PledgeTesting
import Testing

/// Nested operators of any kind and depth settle, are cancelled, and are released in constant
/// stack.
@Suite(.apart) struct NestedOperators {
  enum Kind: CaseIterable {
    case race
    case all
    case variadicAll
    case any
    case allSettled
    case resolveWith
    case adoption
    case uncancellable
  }

  static let depth = isFullRun ? 1_000_000 : 5_000

  static func nest(_ kind: Kind, around start: Promise<Int>) -> Promise<Int> {
    var last = start
    for _ in 0..<depth {
      switch kind {
      case .race: last = .race([last])
      case .any: last = .any([last])
      case .all: last = Promise<[Int]>.all([last]).map(on: .immediate) { $0[0] }
      case .variadicAll:
        last = Promise<(Int, Int)>.all(last, Promise.value(1)).map(on: .immediate) { $0.0 }
      case .allSettled:
        last = Promise<[Result<Int, any Error>]>.allSettled([last]).map(on: .immediate) {
          try $0[0].get()
        }
      case .resolveWith:
        let (promise, resolver) = Promise<Int>.withResolvers()
        resolver.resolve(with: last)
        last = promise
      case .adoption: last = Promise.value(1).then(on: .immediate) { [last] _ in last }
      case .uncancellable: last = last.uncancellable()
      }
    }
    return last
  }

  @Test(arguments: Kind.allCases)
  func nest_isCancelled(kind: Kind) async throws {
    try await onSmallStack {
      let (start, resolver) = Promise<Int>.withResolvers()
      let end = Self.nest(kind, around: start)
      end.cancel()
      let isRight = end.state == "rejected: \(CancellationError())"
      withExtendedLifetime(resolver) {}
      return isRight
    }
  }

  @Test(arguments: Kind.allCases)
  func nest_settles(kind: Kind) async throws {
    try await onSmallStack {
      let (start, resolver) = Promise<Int>.withResolvers()
      let end = Self.nest(kind, around: start)
      resolver.fulfill(7)
      return end.state == "fulfilled: 7"
    }
  }

  @Test(arguments: Kind.allCases)
  func nest_isDropped(kind: Kind) async throws {
    let lifetimes = LifetimeTracker()
    try await onSmallStack {
      let (start, resolver) = Promise<Int>.withResolvers()
      let end = Self.nest(kind, around: start)
      end.done(on: .immediate) { [token = lifetimes.track("end")] _ in _ = token }.ignoreErrors()
      withExtendedLifetime(resolver) {}
      return true
    }
    try await lifetimes.expectNoneAlive()
  }

  @Test func executorThatDropsItsJobs_breaksLongChainsInConstantStack() async throws {
    try await onSmallStack {
      let (start, resolver) = Promise<Int>.withResolvers()
      var last = start
      for _ in 0..<Self.depth { last = last.finally(on: DroppingExecutor()) {} }
      resolver.fulfill(1)
      if case .failure(let error) = last.currentResult { return error is BrokenPromiseError }
      return false
    }
  }

  @Test func executorThatRunsJobsInEnqueue_runsLongChainsInConstantStack() async throws {
    try await onSmallStack {
      let (start, resolver) = Promise<Int>.withResolvers()
      var last = start
      for _ in 0..<Self.depth { last = last.map(on: InlineExecutor()) { $0 + 1 } }
      resolver.fulfill(0)
      return last.state == "fulfilled: \(Self.depth)"
    }
  }

  private func onSmallStack(_ body: @escaping @Sendable () -> Bool) async throws {
    let isRight = await withCheckedContinuation { continuation in
      onNewThread(stackSize: 512 * 1024) { continuation.resume(returning: body()) }
    }
    #expect(isRight)
  }
}

private struct DroppingExecutor: PromiseExecutor {
  func enqueue(_ job: PromiseJob) {}
}

private struct InlineExecutor: PromiseExecutor {
  func enqueue(_ job: PromiseJob) { job.run() }
}
