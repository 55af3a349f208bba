import Exploration
@_spi(DropIns) import Pledge
import VirtualPlatform

/// Tasks that wait for promises, promises of tasks, and handlers on actors.
let awaitingPrograms = [
  Program("await-abandoned") { notes in
    let (promise, resolver) = Promise<Token>.withResolvers()
    let task = awaiting(promise, "task", in: notes)
    return Scenario([{ resolver.abandon() }, { VirtualTasks.cancel(task) }]) {
      expect(notes.hears("task", "broken", "cancelled"))
    }
  },
  Program("await-adopted") { notes in
    let (source, sourceResolver) = Promise<Int>.withResolvers()
    let (inner, innerResolver) = Promise<Token>.withResolvers()
    let outer = source.then(on: .immediate) { _ in inner }
    let task = awaiting(outer, "task", in: notes)
    return Scenario([
      { sourceResolver.fulfill(1) }, { innerResolver.fulfill(Token()) },
      { VirtualTasks.cancel(task) },
    ]) {
      expect(
        notes.hears("task", "value", "cancelled"),
        (outer.state != "pending", "the outer one is pending"))
    }
  },
  Program("actor-order") { notes in
    let (promise, resolver) = Promise<Token>.withResolvers()
    let place = Place()
    promise.note("1", on: .actor(place), in: notes)
    promise.note("2", on: .actor(place), in: notes)
    promise.note("x", in: notes)
    return Scenario([
      { resolver.fulfill(Token()) },
      {
        promise.note("3", on: .actor(place), in: notes)
        promise.note("4", on: .actor(place), in: notes)
      },
    ]) { expect(notes.hasEachOnce("1", "2", "3", "4", "x"), notes.areInOrder("1", "2", "3", "4")) }
  },
  Program("actor-released") { notes in
    // The handler is skipped, but its closure must be released on the main actor nevertheless.
    let (promise, resolver) = Promise<Token>.withResolvers()
    let last: Promise<Void> = {
      let held = Guard(notes)
      return promise.done(on: DispatchQueue.main) { _ in withExtendedLifetime(held) {} }
    }()
    last.ignoreErrors()
    return Scenario([{ resolver.reject(Failed()) }, { last.cancel() }]) {
      expect((notes.lines == ["released there"], "heard: \(notes.text)"))
    }
  },
]

/// Returns a task that records the result of `promise`.
private func awaiting(
  _ promise: Promise<Token>, _ name: String, in notes: Notes
) -> Task<Void, Never> {
  Task {
    let result = await promise.result
    notes.add("\(name) \(describe(result))")
  }
}

/// Records where it was released.
private final class Guard: Sendable {
  let notes: Notes
  init(_ notes: Notes) { self.notes = notes }
  deinit { notes.add(DispatchQueue.main.isCurrent ? "released there" : "released elsewhere") }
}
