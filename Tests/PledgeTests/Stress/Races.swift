import Dispatch
@_spi(DropIns) import Pledge
import PledgeTesting
import Testing

/// Threads that perform all actions on the same promises concurrently.
///
/// It must run without reports under ThreadSanitizer.
@Suite(.apart, .serialized) struct Races {
  // Some tests leave errors unhandled.
  init() { DiagnosticsLog.install() }

  let rounds = isFullRun ? 20_000 : 1_000

  @Test(arguments: 0..<4)
  func attachSettleCancelDropAtRandom(seed: Int) async throws {
    let lifetimes = LifetimeTracker()
    let queue = DispatchQueue(label: "stress")
    let concurrent = DispatchQueue(label: "stress.concurrent", attributes: .concurrent)
    for round in 0..<rounds {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let (inner, innerResolver) = Promise<Int>.withResolvers()
      let handlerRuns = CallCounter()
      let handlers = CallCounter()
      DispatchQueue.concurrentPerform(iterations: 3) { thread in
        var random = SeededRandom(seed: UInt64(seed << 40 | round << 8 | thread))
        var mine: [Promise<Int>] = []
        for _ in 0..<8 {
          let token = lifetimes.track("handler")
          let executor: any PromiseExecutor =
            [.immediate, queue, concurrent, DispatchQueue.main]
            .randomElement(using: &random) ?? .immediate
          let source = mine.randomElement(using: &random) ?? promise
          switch Int.random(in: 0..<12, using: &random) {
          case 0: resolver.fulfill(1)
          case 1: resolver.reject(CancellationError())
          case 2: mine.randomElement(using: &random)?.cancel()
          case 3:
            handlers.call()
            mine.append(
              source.map(on: executor) {
                _ = token
                handlerRuns.call()
                return $0
              })
          case 4: mine.append(source.then(on: executor) { [inner] _ in (token, inner).1 })
          case 5: mine.append(source.recover(on: executor) { _ in .value(token.label.count) })
          case 6: mine.append(source.finally(on: executor) { _ = token })
          case 7: mine.append(.race([source, inner]))
          case 8: mine = mine.dropLast()
          case 9: innerResolver.fulfill(2)
          case 10: Promise.all([source, inner, promise]).catch(on: executor) { _ in _ = token }
          default: resolver.onCancel { _ = token }
          }
        }
        for promise in mine { promise.ignoreErrors() }
      }
      #expect(handlerRuns.count <= handlers.count)
      resolver.fulfill(0)
      innerResolver.fulfill(0)
    }
    try await lifetimes.expectNoneAlive(within: .seconds(60))
  }

  /// Loops on a pool adopt from several threads concurrently: while one thread splices a promise
  /// out of the chain, the next promise of the chain settles.
  @Test func recursionOnAPool_isTakenOutOfTheMiddle_byManyThreads() async throws {
    @Sendable func step(_ n: Int) -> Promise<Int> {
      if n == 0 { return .value(42) }
      return Promise.value(n).then(on: .global) { step($0 - 1) }
    }
    for _ in 0..<rounds {
      let loops = (0..<4).map { _ in step(40) }
      try await expectFulfillment(of: .all(loops), with: [42, 42, 42, 42])
    }
  }

  @Test func allHandlersRunOnce_whenTheyAreAttachedWhileThePromiseSettles() async throws {
    let queue = DispatchQueue(label: "stress")
    for _ in 0..<rounds {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let runs = CallCounter()
      DispatchQueue.concurrentPerform(iterations: 3) { thread in
        if thread == 0 { resolver.fulfill(1) }
        for _ in 0..<10 { promise.done(on: queue) { _ in runs.call() }.ignoreErrors() }
      }
      queue.sync {}
      // By now, every attached handler has been sent to the queue and has run, except in a turn
      // that may still be in progress.
      queue.sync {}
      #expect(runs.count == 30)
    }
  }

  @Test func sweepAgainstSettlement_losesNoObserver() async throws {
    for _ in 0..<rounds {
      let (promise, resolver) = Promise<Int>.withResolvers()
      let runs = CallCounter()
      DispatchQueue.concurrentPerform(iterations: 3) { thread in
        switch thread {
        case 0: for _ in 0..<40 { promise.map(on: .immediate) { $0 }.cancel() }
        case 1: for _ in 0..<10 { promise.done(on: .immediate) { _ in runs.call() }.ignoreErrors() }
        default: resolver.fulfill(1)
        }
      }
      #expect(resolver.isPending == false)
      let cancelled = promise.state != "fulfilled: 1"
      #expect(cancelled || runs.count == 10)
    }
  }

  @Test func onePromiseAdoptedByMany_whileTheyAreCancelled() async throws {
    for _ in 0..<rounds {
      let (inner, innerResolver) = Promise<Int>.withResolvers()
      let (start, startResolver) = Promise<Void>.withResolvers()
      let starts = [start, start.map(on: .immediate) {}, .value(())]
      let keeper = inner.map(on: .immediate) { $0 }
      DispatchQueue.concurrentPerform(iterations: 4) { thread in
        if thread == 3 {
          startResolver.fulfill()
          return
        }
        let outer = starts[thread].then(on: .immediate) { inner }
        let end = outer.map(on: .immediate) { $0 }
        if thread != 0 { end.cancel() } else { end.ignoreErrors() }
      }
      #expect(keeper.isPending)
      innerResolver.fulfill(1)
      #expect(keeper.state == "fulfilled: 1")
    }
  }

  @Test(arguments: [true, false])
  func resolverThatIsDroppedWhileItsPromiseIsCancelled_tellsItsProducer(isReturned: Bool) {
    for _ in 0..<rounds / 20 {
      var promises: [Promise<Int>] = []
      var inner: [Promise<Int>] = []
      var told: [CallCounter] = []
      let resolvers = Mutex<[Resolver<Int>]>([])
      for _ in 0..<100 {
        let (promise, resolver) = Promise<Int>.withResolvers()
        let counter = CallCounter()
        resolver.onCancel { counter.call() }
        told.append(counter)
        inner.append(promise)
        // A handler returns the promise, so the handler's promise adopts it.
        promises.append(
          isReturned ? Promise.value(()).then(on: .immediate) { promise } : promise)
        resolvers.withLock { $0.append(resolver) }
      }
      DispatchQueue.concurrentPerform(iterations: 2) { [promises] thread in
        if thread == 0 {
          for promise in promises.reversed() { promise.cancel() }
        } else {
          var mine = resolvers.withLock { exchange(&$0, with: []) }
          while !mine.isEmpty { mine.removeLast() }
        }
      }
      for (promise, told) in zip(inner, told) {
        let isCancelled = promise.state == "rejected: CancellationError()"
        #expect(told.count == (isCancelled ? 1 : 0), "\(promise)")
        #expect(!promise.isPending)
      }
      #expect(promises.allSatisfy { !$0.isPending })
    }
  }

  @Test func manyTasksAwait_andAreCancelledAtRandom() async throws {
    let count = isFullRun ? 100_000 : 5_000
    let groups = 50
    let (cancelled, fulfilled) = (CallCounter(), CallCounter())
    let started = Recorder<Int>()
    let promises = (0..<groups).map { _ in Promise<Int>.withResolvers() }
    // A permanent consumer, so that the others' cancellation doesn't cancel the promise.
    for (promise, _) in promises { promise.ignoreErrors() }
    await withTaskGroup(of: Void.self) { group in
      var random = SeededRandom(seed: 42)
      var tasks: [Task<Int, any Error>] = []
      for index in 0..<count {
        let promise = promises[index % groups].promise
        tasks.append(
          Task {
            started.record(index)
            return try await promise.value
          })
        if Bool.random(using: &random) { tasks.randomElement(using: &random)?.cancel() }
      }
      await started.reaches(count).value
      for (index, entry) in promises.enumerated() {
        DispatchQueue.global().async { entry.resolver.fulfill(index) }
      }
      for task in tasks where Bool.random(using: &random) { task.cancel() }
      for task in tasks {
        switch await task.result {
        case .success: fulfilled.call()
        case .failure(let error):
          #expect(error is CancellationError)
          cancelled.call()
        }
      }
      await group.waitForAll()
    }
    #expect(cancelled.count + fulfilled.count == count)
    print("\(count) awaits: \(fulfilled.count) got the value, \(cancelled.count) were cancelled")
    for (index, entry) in promises.enumerated() {
      #expect(entry.promise.state == "fulfilled: \(index)")
    }
  }
}
