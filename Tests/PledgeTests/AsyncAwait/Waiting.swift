import Dispatch
import Foundation
import Pledge
import PledgeTesting
import Testing

/// Contract, line 14: `wait()` and its deadlocks.
@Suite(.apart) struct Waiting {
  @Test func line14_waitReturnsTheOutcome() async throws {
    let outcomes = Recorder<String>()
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        for when in When.allCases {
          outcomes.record("\(String(describing: try? when.fulfill(1) { $0 }.wait()))")
          do { _ = try when.reject { $0 }.wait() } catch { outcomes.record("\(error)") }
        }
        continuation.resume()
      }
    }
    let expected = Array(repeating: ["Optional(1)", "\(Boom())"], count: 3)
    #expect(outcomes.events == expected.flatMap(\.self))
  }

  @MainActor @Test func line14_onTheMainThread_forAHandlerOnTheMainThread_throws() async throws {
    func wait(_ promise: Promise<Int>) throws -> Int { try promise.wait() }
    let promise = Promise.value(1).map(on: .main) { $0 }
    #expect(throws: DeadlockError.self) { try wait(promise) }
    let deeper = promise.map(on: .immediate) { $0 }.then(on: .global) { Promise.value($0) }
    #expect(throws: DeadlockError.self) { try wait(deeper) }
    try await expectFulfillment(of: deeper, with: 1)
  }

  @MainActor @Test func line14_onTheMainThread_forAnExecutorOfTheMainQueue_throws() async throws {
    func wait(_ promise: Promise<Int>) throws -> Int { try promise.wait() }
    let promise = Promise.value(1).map(on: QueueExecutor(.main)) { $0 }
    #expect(throws: DeadlockError.self) { try wait(promise) }
    try await expectFulfillment(of: promise, with: 1)
  }

  @MainActor @Test(arguments: ["asyncMap", "asyncRecover", "asyncFinally", "retry", "hedged"])
  func line14_onTheMainThread_forATaskOnTheMainActor_throws(operator name: String) async throws {
    func wait(_ promise: Promise<Int>) throws -> Int { try promise.wait() }
    let promise: Promise<Int> =
      switch name {
      case "asyncMap": Promise.value(1).asyncMap { @MainActor number in number }
      case "asyncRecover": Promise<Int>.rejected(Boom()).asyncRecover { @MainActor _ in 1 }
      case "asyncFinally": Promise.value(1).asyncFinally { @MainActor in }
      case "retry": Promise.retry(.fixed(attempts: 2)) { @MainActor () async in 1 }
      default: Promise.hedged(delay: .seconds(1)) { @MainActor () async in 1 }
      }
    #expect(throws: DeadlockError.self) { try wait(promise) }
    try await expectFulfillment(of: promise, with: 1)
  }

  @MainActor @Test(arguments: Service.allCases)
  func line14_onTheMainThread_forAServicesWorkOnTheMainActor_throws(_ service: Service) async throws
  {
    func wait(_ promise: Promise<Int>) throws -> Int { try promise.wait() }
    let promise = service.run { Promise.value(1).map(on: .main) { $0 } }
    #expect(throws: DeadlockError.self) { try wait(promise) }
    try await expectFulfillment(of: promise, with: 1)
  }

  @Test(arguments: Service.allCases)
  func line14_insideAHandler_forAServicesWorkOnTheSameQueue_throws(_ service: Service) async throws
  {
    let queue = DispatchQueue(label: "wait")
    let promise = Promise.value(1).map(on: queue) { value in
      try service.run { Promise.value(value).map(on: queue) { $0 } }.wait()
    }
    try await expectRejection(of: promise, with: DeadlockError.self)
  }

  @MainActor @Test(arguments: ["isolated", "async", "limiter", "acquire", "body"])
  func line14_onTheMainThread_forAServicesClosureOnTheMainActor_throws(where name: String)
    async throws
  {
    func wait(_ promise: Promise<Int>) throws -> Int { try promise.wait() }
    let promise: Promise<Int> =
      switch name {
      case "isolated":
        Promise.all([1, 2], concurrently: 1) { .value($0) }.map(on: .immediate) { $0[0] }
      case "async":
        Promise.all([1, 2], concurrently: 1) { @MainActor number async in number }
          .map(on: .immediate) { $0[0] }
      case "limiter": Limiter(1).run { @MainActor () async in 1 }
      case "acquire":
        Promise.using(acquire: { @MainActor in 1 }, release: { _ async in }) { value async in value
        }
      default:
        Promise.using(acquire: { @Sendable in 1 }, release: { @Sendable _ async in }) {
          @MainActor value async in value
        }
      }
    #expect(throws: DeadlockError.self) { try wait(promise) }
    try await expectFulfillment(of: promise, with: 1)
  }

  @MainActor @Test(arguments: Service.allCases)
  func line14_onTheMainThread_forAServicesWorkElsewhere_waits(_ service: Service) throws {
    func wait(_ promise: Promise<Int>) throws -> Int { try promise.wait() }
    let gate = DispatchSemaphore(value: 0)
    let promise = service.run {
      Promise.value(1).map(on: .global) { value in
        gate.wait()
        return value
      }
    }
    // By now, the deadlock detection has examined the work.
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100)) { gate.signal() }
    #expect(try wait(promise) == 1)
  }

  @Test func line14_requestsThatWaitForEachOther_areLeftWaiting() async throws {
    // The detection must end, although what it follows is a cycle.
    let requests = RequestCoalescer<String, Int>()
    let (gate, resolver) = Promise<Void>.withResolvers()
    let first = requests.promise(for: "a") {
      gate.then(on: .immediate) { requests.promise(for: "b") { Promise.value(1) } }
    }
    let second = requests.promise(for: "b") {
      gate.then(on: .immediate) { requests.promise(for: "a") { Promise.value(2) } }
    }
    resolver.fulfill(())
    let waiting = Promise.value(()).map(on: DispatchQueue(label: "wait")) { try first.wait() }
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100)) {
      first.cancel()
      second.cancel()
    }
    try await expectRejection(of: waiting, with: CancellationError.self)
  }

  @MainActor @Test func line14_onTheMainThread_forAGuaranteesTask_throws() async {
    func wait(_ guarantee: Guarantee<Int>) throws -> Int { try guarantee.wait() }
    let guarantee = Guarantee.value(1).asyncMap { @MainActor number in number }
    #expect(throws: DeadlockError.self) { try wait(guarantee) }
    #expect(await guarantee.value == 1)
  }

  @MainActor @Test func line14_onTheMainThread_forAnythingElse_waits() async throws {
    func wait(_ promise: Promise<Int>) throws -> Int { try promise.wait() }
    let promise = Promise.value(1).map(on: .global) { $0 + 1 }
    #expect(try wait(promise) == 2)
  }

  @Test func line14_insideAHandler_forTheSameSerialQueue_throws() async throws {
    let queue = DispatchQueue(label: "wait")
    let promise = Promise.value(1).map(on: queue) { value in
      try Promise.value(value).map(on: queue) { $0 }.wait()
    }
    try await expectRejection(of: promise, with: DeadlockError.self)
  }

  @Test(arguments: [nil, DispatchGroup()])
  func line14_insideAHandler_forAnExecutorOfTheSameQueue_throws(group: DispatchGroup?) async throws
  {
    let queue = DispatchQueue(label: "wait")
    let executor = QueueExecutor(queue, group: group)
    let promise = Promise.value(1).map(on: executor) { value in
      try Promise.value(value).map(on: executor) { $0 }.wait()
    }
    try await expectRejection(of: promise, with: DeadlockError.self)
    let mixed = Promise.value(1).map(on: queue) { value in
      try Promise.value(value).map(on: executor) { $0 }.wait()
    }
    try await expectRejection(of: mixed, with: DeadlockError.self)
  }

  @Test func line14_insideAHandler_onAnActor_throws() async throws {
    let place = Place.actor
    let promise = Promise.value(1).map(on: place.executor) { value in
      try Promise.value(value).map(on: place.executor) { $0 }.wait()
    }
    try await expectRejection(of: promise, with: DeadlockError.self)
  }

  @Test func line14_insideAHandler_forItsOwnPromise_throws() async throws {
    let itself = Box<Promise<Int>?>(nil)
    let (start, resolver) = Promise<Int>.withResolvers()
    let promise = start.map(on: .global) { value in try itself.value?.wait() ?? value }
    itself.value = promise
    resolver.fulfill(1)
    try await expectRejection(of: promise, with: DeadlockError.self)
    itself.value = nil
  }

  @Test func line14_insideAHandlerInPlace_forALaterOneOfTheSamePromise_runsThat() throws {
    let order = Recorder<String>()
    let (promise, resolver) = Promise<Int>.withResolvers()
    let (other, otherResolver) = Promise<Int>.withResolvers()
    let last = Box<Promise<Int>?>(nil)
    let first = promise.map(on: .immediate) { value in
      order.record("first")
      otherResolver.fulfill(value)
      return try last.value?.wait() ?? 0
    }
    // Waits for a handler of the delivery around its own.
    let nested = other.map(on: .immediate) { _ in
      order.record("nested")
      return try last.value?.wait() ?? 0
    }
    let sibling = other.map(on: .immediate) { _ in order.record("sibling") }
    last.value = promise.map(on: .immediate) { value in
      order.record("last")
      return value + 1
    }
    resolver.fulfill(1)
    #expect(try [first, nested].map { try $0.currentResult?.get() } == [2, 2])
    #expect(!sibling.isPending)
    #expect(order.events == ["first", "nested", "sibling", "last"])
    last.value = nil
  }

  @Test func line14_insideAHandlerInPlace_forACombinatorOfALaterOne_runsThat() throws {
    let (promise, resolver) = Promise<Int>.withResolvers()
    let later = Box<Promise<[Int]>?>(nil)
    let first = Promise.all([promise]).map(on: .immediate) { _ in try later.value?.wait() ?? [] }
    later.value = .all([promise.map(on: .immediate) { $0 + 1 }])
    resolver.fulfill(1)
    #expect(try first.currentResult?.get() == [2])
    later.value = nil
  }

  @Test func line14_insideAHandlerOnAConcurrentExecutor_forAnotherOne_waits() async throws {
    // Dispatch has other threads for the inner handler, which must not be deferred to this turn.
    let promise = Promise.value(1).map(on: .global) { value in
      try Promise.value(value).map(on: .global) { $0 + 1 }.wait()
    }
    try await expectFulfillment(of: promise, with: 2)
  }

  @Test(arguments: Gathering.allCases)
  func line14_insideAHandler_forACombinatorOfTheSameSerialQueue_throws(
    _ gathering: Gathering
  ) async throws {
    let queue = DispatchQueue(label: "wait")
    let promise = Promise.value(1).map(on: queue) { value in
      try gathering.combine(Promise.value(value).map(on: queue) { $0 }).wait()
    }
    try await expectRejection(of: promise, with: DeadlockError.self)
  }

  @MainActor @Test(arguments: Gathering.allCases)
  func line14_onTheMainThread_forACombinatorThatNeedsIt_throws(
    _ gathering: Gathering
  ) async throws {
    func wait(_ promise: Promise<Int>) throws -> Int { try promise.wait() }
    let promise = gathering.combine(Promise.value(1).map(on: .main) { $0 })
    #expect(throws: DeadlockError.self) { try wait(promise) }
    try await expectFulfillment(of: promise, with: 1)
  }

  @Test(arguments: Gathering.allCases)
  func line14_insideAHandler_forACombinatorOfItsOwnPromise_throws(
    _ gathering: Gathering
  ) async throws {
    let itself = Box<Promise<Int>?>(nil)
    let (start, resolver) = Promise<Int>.withResolvers()
    let promise = start.map(on: .global) { value in try itself.value?.wait() ?? value }
    itself.value = gathering.combine(promise)
    resolver.fulfill(1)
    try await expectRejection(of: promise, with: DeadlockError.self)
    itself.value = nil
  }

  @MainActor @Test func line14_onTheMainThread_forARaceThatAnotherExecutorCanWin_waits() throws {
    func wait(_ promise: Promise<Int>) throws -> Int { try promise.wait() }
    let gate = DispatchSemaphore(value: 0)
    let free = Promise.value(2).map(on: .global) { value in
      gate.wait()
      return value
    }
    let race = Promise.race([Promise.value(1).map(on: .main) { $0 }, free])
    // By now, the deadlock detection has examined both inputs.
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100)) { gate.signal() }
    #expect(try wait(race) == 2)
  }

  /// Services whose promise settles as the work that they start.
  enum Service: CaseIterable {
    case limiter, bounded, coalescer, using

    func run(_ work: @escaping @Sendable () -> Promise<Int>) -> Promise<Int> {
      switch self {
      case .limiter: Limiter(1).run(on: .immediate) { work() }
      case .bounded:
        Promise.all(on: .immediate, [1, 2], concurrently: 1) { $0 == 2 ? .value(2) : work() }
          .map(on: .immediate) { $0[0] }
      case .coalescer: RequestCoalescer<Int, Int>().promise(for: 1) { work() }
      case .using: .using(work(), release: { _ in }) { .value($0) }
      }
    }
  }

  /// Combinators whose result also waits for their input.
  enum Gathering: CaseIterable {
    case all, pair, first, any, settled, nested

    func combine(_ promise: Promise<Int>) -> Promise<Int> {
      switch self {
      case .all: Promise.all([.value(0), promise]).map(on: .immediate) { $0[1] }
      case .pair: Promise.all(Promise.value("a"), promise).map(on: .immediate) { $1 }
      case .first: .race([promise, promise.map(on: .immediate) { $0 }])
      case .any: .any([.rejected(Boom()), promise])
      case .settled:
        Promise.allSettled([promise]).map(on: .immediate) { try $0[0].get() }
      case .nested: .race([Gathering.all.combine(.race([promise, promise]))])
      }
    }
  }

  @Test func line14_guaranteesToo() throws {
    func wait(_ guarantee: Guarantee<Int>) throws -> Int { try guarantee.wait() }
    #expect(try wait(.value(1)) == 1)
  }
}
