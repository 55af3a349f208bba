import Exploration
import Pledge
import VirtualPlatform

/// Programs that are wrong on purpose, and that the explorer must report.
let selfTests = [
  Program("self-two-locks", mustFind: "deadlock: thread 0 waits for a lock that thread 1 holds") {
    _ in
    let (first, second) = (Lock(), Lock())
    return Scenario([
      { first.mutex.withLock { _ in second.mutex.withLock { _ in } } },
      { second.mutex.withLock { _ in first.mutex.withLock { _ in } } },
    ]) { nil }
  },
  Program("self-waits-for-nothing", mustFind: "deadlock: thread 0 waits for a semaphore") { _ in
    let (promise, resolver) = Promise<Int>.withResolvers()
    return Scenario([{ _ = try? promise.wait() }]) { withExtendedLifetime(resolver) { nil } }
  },
  Program("self-lost-update", mustFind: "one update was lost") { _ in
    let counter = Counter()
    let add = {
      let old = counter.count.load(ordering: .acquiring)
      counter.count.store(old + 1, ordering: .releasing)
    }
    return Scenario([add, add]) {
      expect((counter.count.load(ordering: .acquiring) == 2, "one update was lost"))
    }
  },
  Program("self-endless", mustFind: "no end after") { _ in
    let counter = Counter()
    return Scenario([
      { while counter.count.load(ordering: .acquiring) == 0 {} },
      { _ = counter.count.load(ordering: .acquiring) },
    ]) { nil }
  },
  Program("self-leak", mustFind: "1 objects were never released") { _ in
    Scenario([
      {
        let ring = Ring()
        ring.next = ring
      }
    ]) { nil }
  },
  Program("self-out-of-order-timers", mustFind: "the later one fired first") { notes in
    return Scenario([
      {
        Promise<Void>.after(.seconds(1)).note("first", on: Queues.a, in: notes)
        Promise<Void>.after(.seconds(2)).note("second", on: Queues.b, in: notes)
      }
    ]) { expect((notes.order == ["first", "second"], "the later one fired first")) }
  },
]

private final class Lock: Sendable { let mutex = Mutex(0) }

private final class Counter: Sendable { let count = Atomic(0) }

private final class Ring: @unchecked Sendable {
  let token = Token()
  var next: Ring?
}

/// Programs that are wrong only if a load can return an old value, for `stale`.
let staleSelfTests = [
  Program("stale-message", mustFind: "the message was not there") { _ in
    let message = Message()
    let found = Box(1)
    return Scenario([
      {
        message.text.store(1, ordering: .relaxed)
        message.isThere.store(true, ordering: .relaxed)
      },
      {
        if message.isThere.load(ordering: .acquiring) {
          found.value = message.text.load(ordering: .relaxed)
        }
      },
    ]) { expect((found.value == 1, "the message was not there")) }
  }
]

private final class Message: Sendable {
  let text = Atomic(0)
  let isThere = Atomic(false)
}
