import Exploration
@_spi(DropIns) import Pledge
import VirtualPlatform

/// Settlement, observers, and the order of delivery.
let settlingPrograms = [
  Program("settle-attach") { notes in
    let (promise, resolver) = Promise<Token>.withResolvers()
    promise.note("1", in: notes)
    promise.note("2", in: notes)
    return Scenario([
      { resolver.fulfill(Token()) },
      {
        promise.note("a", in: notes)
        promise.note("b", in: notes)
      },
      { promise.note("c", in: notes) },
    ]) {
      expect(
        notes.hasEachOnce("1", "2", "a", "b", "c"),
        // If they run in place, later handlers can run before earlier ones.
        notes.areInOrder("1", "2"))
    }
  },
  Program("queue-order") { notes in
    let (promise, resolver) = Promise<Token>.withResolvers()
    promise.note("1", on: Queues.a, in: notes)
    promise.note("2", on: Queues.a, in: notes)
    promise.note("x", in: notes)
    return Scenario([
      { resolver.fulfill(Token()) },
      {
        promise.note("3", on: Queues.a, in: notes)
        promise.note("y", in: notes)
        promise.note("4", on: Queues.a, in: notes)
      },
    ]) {
      expect(notes.hasEachOnce("1", "2", "3", "4", "x", "y"), notes.areInOrder("1", "2", "3", "4"))
    }
  },
  Program("slow-handler-among-others") { notes in
    // A handler in place blocks, while others are passed to queues.
    let (promise, resolver) = Promise<Token>.withResolvers()
    let hasRun = DispatchSemaphore(value: 0)
    promise.observe(on: .immediate) { _ in
      hasRun.wait()
      notes.add("slow value")
    }
    promise.note("queued", on: Queues.a, in: notes)
    return Scenario([
      { resolver.fulfill(Token()) },
      {
        promise.observe(on: Queues.b) { _ in
          notes.add("other value")
          hasRun.signal()
        }
      },
    ]) { expect(notes.hasEachOnce("slow", "queued", "other")) }
  },
]
