@_spi(DropIns) import Pledge
@testable import PledgeDiagnostics

extension TraceTests {
  /// What the tree says about each way to make a pending promise: each text must be true.
  @Suite struct PendingTextTests {
    /// A way to make pending promises, and the texts of the tree's lines without their titles.
    struct Case: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let texts: [String]
      let make: @Sendable () async -> [any Sendable]

      init(
        _ name: String, _ texts: [String], _ make: @escaping @Sendable () async -> [any Sendable]
      ) {
        (testDescription, self.texts, self.make) = (name, texts, make)
      }
    }

    @Test(arguments: cases) func linesAreAsListed(_ example: Case) async throws {
      await tracing { trace in
        let kept = await example.make()
        // Handlers and tasks can start on other threads.
        try? await waitUntil(within: .seconds(5)) { texts(trace.pendingTree()) == example.texts }
        #expect(texts(trace.pendingTree()) == example.texts, "\(trace.pendingTree())")
        withExtendedLifetime(kept) {}
      }
    }

    /// Returns the texts of the lines, without titles and times.
    private func texts(_ tree: PendingTree) -> [String] {
      tree.nodes.map { node in
        // Without the number, which is that of another line.
        let text = node.description.replacing(/#\d+/) { _ in "#" }
          .replacing(#/,? for [\d.]+ (s|ms|µs)$/#) { _ in "" }
        let words = text.firstRange(of: #/(, on [^:]+)?: /#).map { String(text[$0.lowerBound...]) }
        return String(repeating: " ", count: node.depth) + (words ?? text)
      }
    }
  }
}

private let unsettled = ": its resolver or operation has not settled it"
private let waits = ", on immediate: waits"

/// A promise that nothing settles, and its resolver.
private func pending() -> (promise: Promise<Int>, resolver: Resolver<Int>) {
  Promise<Int>.withResolvers()
}

/// Returns what `use` makes of a promise that nothing settles, and what retains both.
private func with(_ use: (Promise<Int>) -> any Sendable) -> [any Sendable] {
  let (promise, resolver) = pending()
  return [use(promise), promise, resolver]
}

private let clock = TestClock()
private let policy = RetryPolicy.fixed(attempts: 2, delay: .seconds(1))

/// Suspends until the task is cancelled.
@Sendable private func suspend() async throws -> Int {
  let (stream, continuation) = AsyncStream<Int>.makeStream()
  for await number in stream { return number }
  withExtendedLifetime(continuation) {}
  throw CancellationError()
}

private let cases: [TraceTests.PendingTextTests.Case] = [
  .init("withResolvers", [unsettled]) { [pending()] },
  .init("Promise of a resolver's closure", [unsettled]) {
    let kept = Recorder<Resolver<Int>>()
    return [Promise<Int> { kept.record($0) }, kept]
  },
  .init("Promise of an async closure", [unsettled]) { [Promise { try await suspend() }] },
  .init("Guarantee of an async closure", [unsettled]) {
    [Guarantee { (try? await suspend()) ?? 0 }]
  },
  .init("withUnmanagedResolver", [": its creation is not in the record", " " + waits]) {
    let (promise, resolver) = Promise<Int>.withUnmanagedResolver()
    return [promise.asVoid(), resolver]
  },
  .init("wrap", [unsettled]) {
    let kept = Recorder<@Sendable (Int?, (any Error)?) -> Void>()
    return [Promise<Int>.wrap { kept.record($0) }, kept]
  },
  .init("Promise.never", [": stays pending until it is cancelled"]) { [Promise<Int>.never] },
  .init("Guarantee.never", [": stays pending until it is cancelled"]) { [Guarantee<Int>.never] },
  .init("after", [": waits for a timer or for promises that are not in the record"]) {
    [Promise.after(.seconds(1), clock: clock)]
  },
  .init(
    "delay",
    [
      ": waits for a timer or for promises that are not in the record", " " + waits,
      "  : its handler returned #",
    ]
  ) { [Promise.value(1).delay(.seconds(1), clock: clock)] },
  .init("timeout", [unsettled, " " + waits]) {
    with { promise in promise.timeout(after: .seconds(1), clock: clock) }
  },
  .init("uncancellable", [unsettled, " " + waits]) { with { promise in promise.uncancellable() } },
  .init("attempt", [unsettled, " " + waits]) { with { promise in Promise.attempt { promise } } },
  .init("finallyThen", [unsettled, " " + waits, "  " + waits, "   : its handler returned #"]) {
    with { promise in Promise.value(1).finallyThen { promise } }
  },
  .init("abandoned, with a timeout", [": stays pending until it is cancelled", " " + waits]) {
    let (promise, resolver) = pending()
    let result = promise.map { $0 }
    resolver.abandon()
    return [result, promise.timeout(after: .seconds(1), clock: clock)]
  },
  .init("resolve(with:)", [unsettled, " : waits"]) {
    let ((first, resolver), second) = (pending(), pending())
    resolver.resolve(with: second.promise)
    return [first, resolver, second]
  },
  .init("observe and watch", [unsettled, " " + waits, " , on global: waits"]) {
    with { promise in
      promise.observe(on: .immediate) { _ in }
      return promise.watch { _ in }
    }
  },
  .init("value", [unsettled, " : a task waits"]) {
    with { promise in Task { try await promise.value } }
  },
  .init("asyncMap", [unsettled, " : its handler returned #"]) {
    [Promise.value(1).asyncMap { _ in try await suspend() }]
  },
  .init("bound(to:)", [unsettled, " " + waits]) {
    let scope = PromiseScope()
    return [scope] + with { $0.bound(to: scope) }
  },
  .init("scope.run of a promise", [unsettled, " " + waits]) {
    let scope = PromiseScope()
    return [scope] + with { promise in scope.run { promise } }
  },
  .init("scope.run of an async closure", [unsettled, " " + waits]) {
    let scope = PromiseScope()
    return [scope.run { try await suspend() }, scope]
  },
  .init("race", [unsettled, " : waits", unsettled, " : see above"]) {
    let (first, second) = (pending(), pending())
    return [Promise.race(first.promise, second.promise), first, second]
  },
  .init("any", [unsettled, " : waits", unsettled, " : see above"]) {
    let (first, second) = (pending(), pending())
    return [Promise.any(first.promise, second.promise), first, second]
  },
  .init("allSettled", [unsettled, " " + waits, "  : waits"]) {
    with { promise in Promise.allSettled([promise]) }
  },
  .init(
    "all(_:concurrently:)",
    [
      // Below, the library's loop, which waits for one of the promises.
      unsettled, " : waits", " : waits", "  , on global: waits", "   : its handler returned #",
      "    " + waits,
    ]
  ) { with { promise in Promise.all([1], concurrently: 1) { _ in promise } } },
  .init("results(of:)", [unsettled]) { with { promise in Promise.results(of: [promise]) } },
  .init("retry, in an attempt", [unsettled, " : its handler returned #", "  " + waits]) {
    with { promise in Promise.retry(on: .immediate, policy, clock: clock) { promise } }
  },
  .init(
    "retry, between attempts",
    [
      ": waits for a timer or for promises that are not in the record", " " + waits, "  " + waits,
      "   : its handler returned #",
    ]
  ) {
    [Promise.retry(on: .immediate, policy, clock: clock) { Promise<Int>.rejected(Oops()) }]
  },
  .init("hedged", [unsettled, " : its handler returned #", "  : waits"]) {
    with { promise in Promise.hedged(on: .immediate, delay: .seconds(1), clock: clock) { promise } }
  },
  .init(
    "using",
    [
      unsettled, " : its handler returned #", "  , on global: waits", "   : its handler returned #",
      "    " + waits,
    ]
  ) { with { promise in Promise.using(Promise.value(1), release: { _ in }) { _ in promise } } },
  .init(
    "using, before the resource is acquired", [unsettled, " : waits", "  " + waits, "   " + waits]
  ) {
    with { acquisition in
      Promise.using(acquisition, release: { _ in }) { _ in Promise.value(1) }
    }
  },
  .init("breaker.run of a promise", [unsettled, " : its handler returned #", "  " + waits]) {
    let breaker = CircuitBreaker()
    return [breaker] + with { promise in breaker.run { promise } }
  },
  .init("breaker.run of an async closure", [unsettled]) {
    let breaker = CircuitBreaker()
    return [breaker.run { try await suspend() }, breaker]
  },
  .init(
    "limiter.run of a promise, waiting",
    [": waits for its limiter or for its operation", " , on global: waits", "  " + waits]
  ) {
    let limiter = Limiter(1)
    limiter.pause()
    return [limiter.run { Promise.value(1) }, limiter]
  },
  .init(
    "limiter.run of an async closure, waiting", [": waits for its limiter or for its operation"]
  ) {
    let limiter = Limiter(1)
    limiter.pause()
    return [limiter.run { try await suspend() }, limiter]
  },
  .init(
    "limiter.idle", Array(repeating: ": waits for its limiter or for its operation", count: 2)
  ) {
    let limiter = Limiter(1)
    limiter.pause()
    return [limiter.run { try await suspend() }, limiter.idle(), limiter]
  },
  .init(
    "pipeline.run of an async closure, waiting",
    [": waits for its policies or for its operation"]
  ) {
    let limiter = Limiter(1)
    limiter.pause()
    return [ResiliencePipeline(.limiter(limiter)).run { try await suspend() }, limiter]
  },
  .init(
    "retry of an async closure, between attempts",
    [
      ": waits for its policies or for its operation",
      ": waits for a timer or for promises that are not in the record", " : a task waits",
    ]
  ) {
    let policy = RetryPolicy.fixed(attempts: 2, delay: .seconds(1))
    return [Promise.retry(policy, clock: clock) { () async throws -> Int in throw Oops() }]
  },
  .init("coalescer.promise of a promise", [unsettled, " : waits", "  " + waits]) {
    let coalescer = RequestCoalescer<Int, Int>()
    return [coalescer] + with { promise in coalescer.promise(for: 1) { promise } }
  },
  .init("coalescer.promise of an async closure", [unsettled, " : waits", "  " + waits]) {
    let coalescer = RequestCoalescer<Int, Int>()
    return [coalescer.promise(for: 1) { try await suspend() }, coalescer]
  },
  .init("loader.promise", [unsettled, " : waits", "  " + waits]) {
    let loader = DataLoader<Int, Int>(delay: .zero) { _ in [1: .success(try await suspend())] }
    return [loader.promise(for: 1), loader]
  },
  .init(
    "loader.promise, before its batch",
    [": waits for its batch to start", " : waits", "  " + waits]
  ) {
    let loader = DataLoader<Int, Int>(delay: .seconds(1), clock: clock) { _ in [:] }
    return [loader.promise(for: 1), loader]
  },
  .init(
    "scope.close, with a task that ignores its cancellation",
    [
      unsettled, " " + waits, ": waits for the work of its scope", " " + waits,
      ": waits for what the cancellation of # has left", " " + waits,
      ": waits for what the cancellation of # has left", " " + waits,
    ]
  ) {
    let scope = PromiseScope()
    let (promise, resolver) = pending()
    scope.run {
      await withCheckedContinuation { continuation in
        promise.observe(on: .immediate) { _ in continuation.resume() }
      }
    }
    return [scope.close(), resolver]
  },
  .init("latest.run", [unsettled, " " + waits]) {
    let latest = LatestOnly<Int>()
    return [latest.run { try await suspend() }, latest]
  },
  .init("on a queue that does not run", [": its handler was not started, on ManualExecutor"]) {
    let executor = ManualExecutor()
    return [Promise.value(1).map(on: executor) { $0 }, executor]
  },
]
