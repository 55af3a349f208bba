import Exploration
@_spi(DropIns) import Pledge
import VirtualPlatform

/// Removing observers from a long-lived promise, and abandoning it.
let longLivedPrograms = [
  Program(name: "remove-settle-attach", make: removeSettleAttach),
  Program(name: "remove-many-settle-attach", make: removeManySettleAttach),
  Program(name: "remove-two", make: removeTwo),
  Program(name: "remove-many-two", make: removeManyTwo),
  Program(name: "abandon-attach", make: abandonAndAttach),
  Program(name: "abandon-settle", make: abandonAndSettle),
  Program(name: "abandon-cancel", make: abandonAndCancel),
  Program(name: "abandon-remove-many-attach", make: abandonRemoveManyAttach),
  Program(name: "abandon-adopted", make: abandonWhatIsAdopted),
  Program(name: "abandon-timeout", make: abandonWithTimeout),
  Program(name: "remove-shield", make: removeShields),
  Program(name: "remove-through-link", make: removeThroughALink),
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

private func removeSettleAttach() -> Scenario { removeSettleAttach(count: 2) }
private func removeManySettleAttach() -> Scenario { removeSettleAttach(count: 17) }

private func removeSettleAttach(count: Int) -> Scenario {
  let notes = Notes()
  let (promise, resolver, next, last) = crowded(notes, count: count)
  next.cancel()
  return Scenario(
    { last.cancel() }, { resolver.fulfill(Token()) },
    {
      promise.note("second", on: Queues.a, in: notes)
      promise.note("third", on: Queues.a, in: notes)
    },
    check: {
      expect(
        (last.state != "pending", "the removed one is pending"),
        (notes.agree(["first", "second", "third"], with: "value"), "heard: \(notes.text)"),
        (
          notes.order.filter { $0 != "first" } == ["second", "third"],
          "out of order on the queue: \(notes.text)"
        ))
    })
}

private func removeTwo() -> Scenario { removeTwo(count: 2) }
private func removeManyTwo() -> Scenario { removeTwo(count: 18) }

private func removeTwo(count: Int) -> Scenario {
  let notes = Notes()
  let (promise, resolver, next, last) = crowded(notes, count: count)
  return Scenario(
    { next.cancel() }, { last.cancel() }, { promise.note("second", in: notes) },
    check: {
      guard promise.state == "pending", notes.lines.isEmpty else {
        return "the promise is \(promise.state), heard: \(notes.text)"
      }
      resolver.fulfill(Token())
      return expect(
        (next.state == "cancelled", "one is \(next.state)"),
        (last.state == "cancelled", "the other is \(last.state)"),
        (notes.agree(["first", "second"], with: "value"), "heard: \(notes.text)"))
    })
}

private func abandonAndAttach() -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  promise.note("before", in: notes)
  let last = promise.counted()
  return Scenario(
    { resolver.abandon() }, { promise.note("during", in: notes) }, { last.cancel() },
    check: {
      expect((notes.lines.isEmpty, "heard: \(notes.text)"))
    })
}

private func abandonAndSettle() -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  promise.note("before", in: notes)
  let won = Box(false)
  return Scenario(
    { resolver.abandon() }, { won.value = resolver.fulfill(Token()) },
    { promise.note("during", in: notes) },
    check: {
      let heard = won.value ? ["value"] : []
      return expect(
        (
          promise.state == (won.value ? "value" : "pending"),
          "the promise is \(promise.state), `fulfill` returned \(won.value)"
        ),
        (
          notes.heard(by: "before") == heard && notes.heard(by: "during") == heard,
          "`fulfill` returned \(won.value), heard: \(notes.text)"
        ))
    })
}

private func abandonAndCancel() -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  let last = promise.counted()
  last.note("last", in: notes)
  return Scenario(
    { resolver.abandon() }, { last.cancel() }, { last.note("late", in: notes) },
    check: {
      expect(
        (
          notes.heard(by: "last") == notes.heard(by: "late") && notes.lines.count <= 2,
          "heard: \(notes.text)"
        ),
        (
          last.state == (notes.lines.isEmpty ? "pending" : "cancelled"),
          "\(last.state), but heard: \(notes.text)"
        ))
    })
}

private func abandonRemoveManyAttach() -> Scenario {
  let notes = Notes()
  let (promise, resolver, next, last) = crowded(notes, count: 17)
  next.cancel()
  return Scenario(
    { last.cancel() }, { resolver.abandon() }, { promise.note("late", in: notes) },
    check: {
      expect((notes.lines.isEmpty, "heard: \(notes.text)"))
    })
}

private func abandonWhatIsAdopted() -> Scenario {
  let (source, sourceResolver) = Promise<Int>.withResolvers()
  let (inner, innerResolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  let outer = source.then(on: .immediate) { _ in inner }
  outer.note("outer", in: notes)
  return Scenario(
    { sourceResolver.fulfill(1) }, { innerResolver.abandon() }, { outer.cancel() },
    check: {
      let heard = notes.heard(by: "outer")
      return expect(
        (
          outer.state == "pending" ? heard.isEmpty : heard == [outer.state],
          "\(outer.state), but heard: \(notes.text)"
        ))
    })
}

private func abandonWithTimeout() -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  let limited = promise.timeout(after: .seconds(1))
  limited.note("end", in: notes)
  return Scenario(
    { resolver.abandon() }, { limited.note("more", in: notes) },
    check: { expect((notes.agree(["end", "more"], with: "late"), "heard: \(notes.text)")) })
}

private func removeShields() -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  promise.note("first", in: notes)
  return Scenario(
    { promise.uncancellable().cancel() }, { promise.uncancellable().cancel() },
    { resolver.fulfill(Token()) },
    check: { expect((notes.agree(["first"], with: "value"), "heard: \(notes.text)")) })
}

private func removeThroughALink() -> Scenario {
  let (inner, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  inner.note("inner", in: notes)
  let outer = Promise.value(1).then(on: .immediate) { _ in inner }
  let first = outer.counted()
  let second = outer.counted()
  return Scenario(
    { first.cancel() }, { second.cancel() }, { outer.note("outer", in: notes) },
    check: {
      resolver.fulfill(Token())
      return expect(
        (
          notes.agree(["inner"], with: "value") && inner.state == "value",
          "the inner one is \(inner.state), heard: \(notes.text)"
        ),
        (notes.agree(["outer"], with: outer.state), "\(outer.state), heard: \(notes.text)"))
    })
}
