import Exploration
import Pledge
import VirtualPlatform

/// Settlement, observers and their order.
let settlingPrograms = [
  Program(name: "settle-attach", make: settleAndAttach),
]

private func settleAndAttach() -> Scenario {
  let (promise, resolver) = Promise<Token>.withResolvers()
  let notes = Notes()
  promise.note("before", in: notes)
  return Scenario(
    { resolver.fulfill(Token()) },
    {
      promise.note("a", in: notes)
      promise.note("b", in: notes)
    },
    { promise.note("c", in: notes) },
    check: {
      expect(
        (notes.hasEachOnce("before", "a", "b", "c"), "not each heard once: \(notes.text)"),
        (
          notes.order.filter { $0 != "c" } == ["before", "a", "b"],
          "out of order: \(notes.text)"
        ))
    })
}
