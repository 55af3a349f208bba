import Foundation
import Pledge
import PledgeTesting
import Synchronization

/// A few threads that each perform one action on the same promise, as simultaneously as possible.
struct Collision: CustomStringConvertible {
  enum Act: CaseIterable {
    case fulfill, fulfillUrgently, fulfillInBackground, reject, drop
    case attach, attachOnActor, attachAndCancel, timeout, cancel
    case adopt, adoptAndCancel, follow, race
  }

  let acts: [Act]
  let hasObserver: Bool
  /// Whether all threads of the pool wait until all rounds have begun.
  let blocksPool: Bool

  init(seed: UInt64) {
    var random = SplitMix(seed: seed)
    hasObserver = random.oneIn(2)
    blocksPool = random.oneIn(4)
    acts = (0..<Int.random(in: 2...4, using: &random)).map { _ in
      Act.allCases.randomElement(using: &random) ?? .fulfill
    }
  }

  var description: String {
    "collision of \(acts.map { "\($0)" }.joined(separator: ", "))"
      + (hasObserver ? " with an observer" : "") + (blocksPool ? " while the pool is blocked" : "")
  }

  /// Repeats the collision `count` times, and returns the broken invariants of the first round that
  /// has any.
  func complaints(rounds count: Int) -> [String] {
    let rounds = (0..<count).map { _ in Round(hasObserver: hasObserver) }
    let arrived = Atomic(0)
    let group = DispatchGroup()
    let end = DispatchSemaphore(value: 0)
    let blocks = blocksPool ? ProcessInfo.processInfo.activeProcessorCount : 0
    for _ in 0..<blocks { DispatchQueue.global().async { end.wait() } }
    for index in acts.indices {
      group.enter()
      Thread.detachNewThread {
        for (number, round) in rounds.enumerated() {
          arrived.wrappingAdd(1, ordering: .acquiringAndReleasing)
          // Spins, because other primitives don't release the threads simultaneously. With fewer
          // cores than threads, a thread yields so that the others can arrive.
          var turns = 0
          while arrived.load(ordering: .acquiring) < (number + 1) * acts.count {
            turns += 1
            if turns > 50 { sched_yield() }
          }
          round.perform(acts[index], index)
        }
        group.leave()
      }
    }
    group.wait()
    for _ in 0..<blocks { end.signal() }
    return rounds.lazy.map { $0.complaints() }.first { !$0.isEmpty } ?? []
  }
}

/// One promise, on which the threads collide.
private final class Round: Sendable {
  private let promise: Pledge.Promise<Int>
  private let resolver: Lock<Resolver<Int>?>
  private let lifetimes = LifetimeTracker()
  private let calls = Lock<[Int: Int]>([:])
  private let made = Lock<[Pledge.Promise<Int>]>([])
  private let place = CollisionPlace()

  init(hasObserver: Bool) {
    let (promise, resolver) = Pledge.Promise<Int>.withResolvers()
    self.promise = promise
    self.resolver = Lock(resolver)
    if hasObserver { made.withLock { $0.append(promise.finally(on: .immediate, handler(-1))) } }
  }

  private func handler(_ index: Int) -> @Sendable () throws -> Void {
    let token = HandlerToken(lifetimes.track())
    return { [calls] in
      calls.withLock { $0[index, default: 0] += 1 }
      withExtendedLifetime(token) {}
    }
  }

  func perform(_ act: Collision.Act, _ index: Int) {
    if let result = result(of: act, handler(index)) { made.withLock { $0.append(result) } }
  }

  private func fulfill(_ priority: TaskPriority) {
    let resolver = resolver.withLock { $0 }
    Task.detached(priority: priority) { _ = resolver?.fulfill(2) }
  }

  func complaints() -> [String] {
    resolver.withLock { $0.take() }?.fulfill(0)
    let promises = made.withLock { $0 }
    if !(Patience.isDoneInTime(limit: 20) { promises.allSatisfy { !$0.isPending } }) {
      return ["a promise never settled"]
    }
    for promise in promises { promise.ignoreErrors() }
    if !(Patience.isDoneInTime(limit: 20) { lifetimes.liveCount == 0 }) {
      return ["a handler was not released"]
    }
    return calls.withLock { $0 }.filter { $0.value > 1 }.map { "handler \($0) ran \($1) times" }
  }

  /// Performs its action, and returns the resulting promise.
  private func result(
    of act: Collision.Act, _ body: @escaping @Sendable () throws -> Void
  ) -> Pledge.Promise<Int>? {
    switch act {
    case .fulfill: resolver.withLock { $0 }?.fulfill(1)
    case .fulfillUrgently: fulfill(.high)
    case .fulfillInBackground: fulfill(.background)
    case .reject: resolver.withLock { $0 }?.reject(CancellationError())
    case .drop: withExtendedLifetime(resolver.withLock { $0.take() }) {}
    case .attach: return promise.finally(on: .global, body)
    case .attachOnActor: return promise.finally(on: .actor(place), body)
    case .attachAndCancel:
      let derived = promise.finally(on: .global, body)
      derived.cancel()
      return derived
    case .timeout:
      return promise.timeout(after: .microseconds(100)).finally(on: .actor(place), body)
    case .cancel: promise.cancel()
    case .adopt:
      let outer = Pledge.Promise.value(0).then(on: .immediate) { [promise] _ in promise }
      return outer.finally(on: .immediate, body)
    case .adoptAndCancel:
      let outer = Pledge.Promise.value(0).then(on: .global) { [promise] _ in promise }
      let derived = outer.finally(on: .immediate, body)
      outer.cancel()
      return derived
    case .follow:
      let (other, follower) = Pledge.Promise<Int>.withResolvers()
      follower.resolve(with: promise)
      return other.finally(on: .immediate, body)
    case .race:
      return Pledge.Promise.race([promise, .value(1)]).finally(on: .immediate, body)
    }
    return nil
  }
}

private actor CollisionPlace {}
