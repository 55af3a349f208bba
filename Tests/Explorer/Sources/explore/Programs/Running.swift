import Exploration
@_spi(DropIns) import Pledge
import VirtualPlatform

/// Where handlers run: turns, the trampoline, and reports of unhandled rejections.
let runningPrograms = [
  Program("trampoline") { notes in
    let (source, resolver) = Promise<Int>.withResolvers()
    var last = source
    for index in 0..<30 {
      last = last.map(on: .immediate) { $0 + 1 }
      if index == 26 { last.note("deep", in: notes) }
    }
    let end = last
    end.note("end", in: notes)
    return Scenario([{ resolver.fulfill(1) }, { end.note("more", in: notes) }]) {
      expect(
        notes.agree(["deep", "end", "more"], with: "value"),
        ((try? end.currentResult?.get()) == 31, "a handler did not run, or ran twice"))
    }
  },
  Program("turn-cancel") { notes in
    let (source, resolver) = Promise<Token>.withResolvers()
    let first = source.map(on: Queues.a) { $0 }
    let second = first.map(on: Queues.a) { $0 }.counted()
    second.note("end", on: Queues.a, in: notes)
    first.note("first", on: Queues.a, in: notes)
    return Scenario([{ resolver.fulfill(Token()) }, { second.cancel() }]) {
      expect(
        (second.state != "pending", "pending"), notes.agree(["end"], with: second.state),
        notes.agree(["first"], with: "value"))
    }
  },
  Program("turn-overtaking") { notes in
    // In the turn's closure, a handler is sent to the queue; the handler of the closure's promise
    // must run after it.
    let (source, resolver) = Promise<Int>.withResolvers()
    source.map(on: Queues.a) { value in
      Promise.value(1).note("1", on: Queues.a, in: notes)
      return value
    }.note("2", on: Queues.a, in: notes)
    return Scenario([{ resolver.fulfill(1) }]) { expect(notes.areInOrder("1", "2")) }
  },
  Program("wait-in-turn") { notes in
    // On a concurrent queue, a closure can wait for a handler on the same queue.
    let (source, resolver) = Promise<Int>.withResolvers()
    let runs = DispatchSemaphore(value: 0)
    source.observe(on: Queues.wide) { _ in
      let (inner, innerResolver) = Promise<Int>.withResolvers()
      inner.observe(on: Queues.wide) { _ in runs.signal() }
      innerResolver.fulfill(1)
      runs.wait()
      notes.add("end value")
    }
    return Scenario([{ resolver.fulfill(1) }]) { expect(notes.hasEachOnce("end")) }
  },
  Program("turn-budget-actor") { notes in
    // More handlers than one turn runs. Nothing else is sent to the actor, because that would end the
    // turn.
    let place = Place()
    let (source, resolver) = Promise<Int>.withResolvers()
    var last = source
    for _ in 0..<140 { last = last.map(on: .actor(place)) { $0 + 1 } }
    let end = last
    return Scenario([{ resolver.fulfill(0) }, { end.note("other", in: notes) }]) {
      expect(
        ((try? end.currentResult?.get()) == 140, "it is \(end)"), notes.hears("other", "value"))
    }
  },
  Program("turn-nested") { notes in
    // A handler runs its loop until another handler there has run, as a modal dialog does.
    let loop = EventLoop()
    let executor = TurnExecutor(name: "loop") { loop.add($0) }
    let (source, resolver) = Promise<Int>.withResolvers()
    let (other, otherResolver) = Promise<Int>.withResolvers()
    let answer = source.map(on: executor) { $0 }
    let last = other.map(on: executor) { $0 }
    return Scenario([
      {
        let outer = Promise.value(1).map(on: executor) { value in
          resolver.fulfill(1)
          loop.run { !answer.isPending }
          notes.add("answer \(answer.state)")
          return value
        }
        loop.run { !outer.isPending && !last.isPending }
      },
      { otherResolver.fulfill(1) },
    ]) {
      expect(last.isOne(of: "value"), (notes.lines == ["answer value"], "heard: \(notes.text)"))
    }
  },
  Program("turn-dropped") { notes in
    let executor = TurnExecutor(name: "closed loop") { _ in }
    let (source, resolver) = Promise<Token>.withResolvers()
    source.map(on: executor) { $0 }.note("1", in: notes)
    return Scenario([
      { resolver.fulfill(Token()) },
      { source.map(on: executor) { $0 }.note("2", in: notes) },
    ]) { expect(notes.agree(["1", "2"], with: "broken")) }
  },
  Program("visits") { notes in
    let (source, resolver) = Promise<Token>.withResolvers()
    let group = DispatchGroup()
    let executor = QueueExecutor(Queues.a, group: group)
    let first = source.map(on: executor) { $0 }
    first.note("1", on: executor, in: notes)
    first.note("2", on: executor, in: notes)
    return Scenario([{ resolver.fulfill(Token()) }, { first.note("3", on: executor, in: notes) }]) {
      expect(
        notes.hasEachOnce("1", "2", "3"), notes.areInOrder("1", "2"),
        (group.isEmpty, "the group counts a handler that has run"))
    }
  },
  Program("reject-caught") { notes in
    let (promise, resolver) = Promise<Int>.withResolvers()
    return Scenario([
      { resolver.reject(Failed()) },
      { promise.catch(on: .immediate) { _ in notes.add("caught") } },
    ]) { expect((notes.lines == ["caught"], "heard: \(notes.text)")) }
  },
  Program("reject-cancel", reports: 1...1) { _ in
    let (promise, resolver) = Promise<Int>.withResolvers()
    let one = promise.map(on: .immediate) { $0 }
    _ = promise.map(on: .immediate) { $0 }
    return Scenario([{ resolver.reject(Failed()) }, { one.cancel() }]) {
      expect(promise.isOne(of: "error"))
    }
  },
]

/// An event loop that a thread runs, also from inside of it.
final class EventLoop: Sendable {
  private let turns = Mutex<[@Sendable () -> Void]>([])
  private let arrivals = DispatchSemaphore(value: 0)

  func add(_ turn: @escaping @Sendable () -> Void) {
    turns.withLock { $0.append(turn) }
    arrivals.signal()
  }

  func run(until isDone: () -> Bool) {
    while !isDone() {
      arrivals.wait()
      turns.withLock { $0.removeFirst() }()
    }
  }
}
