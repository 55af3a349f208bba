import Exploration
@_spi(DropIns) import Pledge
import VirtualPlatform

/// Removing observers from a long-lived promise, and abandoning it.
let longLivedPrograms = [
  Program("remove-many-settle-attach") { notes in
    let (promise, resolver, next, last) = crowded(notes, count: 17)
    next.cancel()
    return Scenario([
      { last.cancel() }, { resolver.fulfill(Token()) },
      {
        promise.note("second", on: Queues.a, in: notes)
        promise.note("third", on: Queues.a, in: notes)
      },
    ]) {
      expect(
        (last.state != "pending", "the removed one is pending"),
        notes.agree(["first", "second", "third"], with: "value"),
        notes.areInOrder("second", "third"))
    }
  },
  Program("remove-many-two") { notes in
    let (promise, resolver, next, last) = crowded(notes, count: 18)
    return Scenario([{ next.cancel() }, { last.cancel() }, { promise.note("second", in: notes) }]) {
      guard promise.state == "pending", notes.lines.isEmpty else {
        return "the promise is \(promise.state), heard: \(notes.text)"
      }
      resolver.fulfill(Token())
      return expect(
        next.isOne(of: "cancelled"), last.isOne(of: "cancelled"),
        notes.agree(["first", "second"], with: "value"))
    }
  },
  Program("abandon-timeout") { notes in
    let (promise, resolver) = Promise<Token>.withResolvers()
    let limited = promise.timeout(after: .seconds(1))
    limited.note("end", in: notes)
    return Scenario([{ resolver.abandon() }, { limited.note("more", in: notes) }]) {
      expect(notes.agree(["end", "more"], with: "late"))
    }
  },
  Program("remove-through-link") { notes in
    let (inner, resolver) = Promise<Token>.withResolvers()
    inner.note("inner", in: notes)
    let outer = Promise.value(1).then(on: .immediate) { _ in inner }
    let first = outer.counted()
    let second = outer.counted()
    return Scenario([{ first.cancel() }, { second.cancel() }, { outer.note("outer", in: notes) }]) {
      resolver.fulfill(Token())
      return expect(
        notes.agree(["inner"], with: "value"), inner.isOne(of: "value"),
        notes.agree(["outer"], with: outer.state))
    }
  },
]

/// Returns a promise with an observer named "first" and `count` others, all but the last two of
/// which have been cancelled.
///
/// Cancelling the seventeenth sweeps all cancelled observers from the list.
private func crowded(_ notes: Notes, count: Int) -> (
  promise: Promise<Token>, resolver: Resolver<Token>, next: Promise<Token>, last: Promise<Token>
) {
  let (promise, resolver) = Promise<Token>.withResolvers()
  promise.note("first", in: notes)
  let others = (0..<count).map { _ in promise.counted() }
  for other in others.dropLast(2) { other.cancel() }
  return (promise, resolver, others[count - 2], others[count - 1])
}
