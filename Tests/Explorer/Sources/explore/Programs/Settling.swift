import Exploration
@_spi(DropIns) import Pledge
import VirtualPlatform

/// Settlement, observers, and the order of delivery.
let settlingPrograms = [
  Program("settle-attach") { notes in
    let (promise, resolver) = Promise<Token>.withResolvers()
    promise.note("1", in: notes)
    promise.note("2", in: notes)
    return Scenario(
      { resolver.fulfill(Token()) },
      {
        promise.note("a", in: notes)
        promise.note("b", in: notes)
      },
      { promise.note("c", in: notes) },
      check: {
        expect(
          notes.hasEachOnce("1", "2", "a", "b", "c"),
          // If they run in place, later handlers can run before earlier ones.
          (notes.order.filter { "12".contains($0) } == ["1", "2"], "out of order: \(notes.text)"))
      })
  },
  Program("queue-order") { notes in
    let (promise, resolver) = Promise<Token>.withResolvers()
    promise.note("1", on: Queues.a, in: notes)
    promise.note("2", on: Queues.a, in: notes)
    promise.note("x", in: notes)
    return Scenario(
      { resolver.fulfill(Token()) },
      {
        promise.note("3", on: Queues.a, in: notes)
        promise.note("y", in: notes)
        promise.note("4", on: Queues.a, in: notes)
      },
      check: {
        expect(
          notes.hasEachOnce("1", "2", "3", "4", "x", "y"),
          (
            notes.order.filter { "1234".contains($0) } == ["1", "2", "3", "4"],
            "out of order on the queue: \(notes.text)"
          ))
      })
  },
  Program("slow-handler-among-others") { notes in
    // A handler in place blocks, while others are passed to queues.
    let (promise, resolver) = Promise<Token>.withResolvers()
    let hasRun = slowHandler(of: promise, in: notes)
    promise.note("queued", on: Queues.a, in: notes)
    return Scenario(
      { resolver.fulfill(Token()) },
      {
        promise.observe(on: Queues.b) { _ in
          notes.add("other value")
          hasRun.signal()
        }
      },
      check: { expect(notes.hasEachOnce("slow", "queued", "other")) })
  },
]

/// Attaches a handler in place that blocks; returns the semaphore that resumes it.
private func slowHandler(of promise: Promise<Token>, in notes: Notes) -> DispatchSemaphore {
  let hasRun = DispatchSemaphore(value: 0)
  promise.observe(on: .immediate) { _ in
    hasRun.wait()
    notes.add("slow value")
  }
  return hasRun
}
